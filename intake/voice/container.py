"""WAV, FLAC, OGG and MP3 through libsndfile, sized from the header before anything is decoded."""

import io

import numpy as np
import soundfile
import soxr

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.voice.form import SAMPLE_RATE_HERTZ, VoiceSettings
from headworks.intake.voice.pcm import Samples

_FORMATS = {"WAV", "WAVEX", "RF64", "FLAC", "OGG", "MP3"}
_BLOCK_FRAMES = 65_536
_MAX_CHANNELS = 8
_RATES = range(4_000, 384_001)


def decode(data: bytes, part: int, settings: VoiceSettings) -> Samples:
    """Decode a whole file to 16 kHz mono. Blocking.

    Raises:
        BadMedia: empty, not audio of a known kind, or damaged.
        TooLarge: longer than `intake.voice.max_seconds`, by its header or by what it holds.
    """
    if not data:
        raise BadMedia(f"voice {part}: the audio is empty")
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            _check(file, len(data), part, settings)
            return _samples(file, part, settings)
    except (soundfile.LibsndfileError, ValueError) as error:
        raise BadMedia(f"voice {part}: not a readable WAV, FLAC, OGG or MP3 file") from error


def _check(file: soundfile.SoundFile, size: int, part: int, settings: VoiceSettings) -> None:
    if file.format not in _FORMATS:
        raise BadMedia(f"voice {part}: {file.format} audio is not taken; send WAV, FLAC, OGG or MP3")
    if file.samplerate not in _RATES or not 1 <= file.channels <= _MAX_CHANNELS:
        raise BadMedia(f"voice {part}: {file.samplerate} Hz in {file.channels} channels is not taken")
    _require_seconds(file.frames // file.samplerate, settings)
    if file.format in ("WAV", "WAVEX", "RF64") and _is_cut(file, size):
        raise BadMedia(f"voice {part}: the file ends before the {file.frames} samples that its header names")


def _is_cut(file: soundfile.SoundFile, size: int) -> bool:
    """libsndfile reads a cut WAV as a shorter one; its header's own count is in the log of what it parsed."""
    for line in file.extra_info.splitlines():
        name, _, rest = line.partition(":")
        if name.strip() == "data" and "should be" in rest:
            return True
    return False


def _samples(file: soundfile.SoundFile, part: int, settings: VoiceSettings) -> Samples:
    resampler = soxr.ResampleStream(file.samplerate, SAMPLE_RATE_HERTZ, 1, dtype="float32")
    blocks: list[Samples] = []
    frames = 0
    while len(block := file.read(_BLOCK_FRAMES, dtype="float32", always_2d=True)):
        frames += len(block)
        _require_seconds(frames // file.samplerate, settings)
        blocks.append(resampler.resample_chunk(np.ascontiguousarray(block.mean(axis=1, dtype=np.float32))))
    blocks.append(resampler.resample_chunk(np.zeros(0, np.float32), last=True))
    if frames == 0:
        raise BadMedia(f"voice {part}: the file holds no samples")
    if frames < file.frames:
        raise BadMedia(f"voice {part}: the file ends after {frames} of the {file.frames} samples its header names")
    return np.nan_to_num(np.concatenate(blocks), nan=0.0, posinf=1.0, neginf=-1.0)


def _require_seconds(seconds: int, settings: VoiceSettings) -> None:
    if seconds > settings.max_seconds:
        raise TooLarge("intake.voice.max_seconds", settings.max_seconds, seconds)
