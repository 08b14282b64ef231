"""Speech in, transcripts out: decode, resample, find utterances, transcribe."""
