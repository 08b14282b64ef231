"""Raw PCM as it is spoken: bytes of any cut in, 16 kHz samples out."""

import numpy as np
import soxr

from headworks.intake.errors import BadMedia
from headworks.intake.voice.encoding import SAMPLE_RATE_HERTZ, SAMPLE_RATES_HERTZ
from headworks.intake.voice.limits import require_seconds
from headworks.intake.voice.pcm import Linear16Decoder, Samples
from headworks.intake.voice.settings import VoiceSettings


class Linear16Reader:
    """Decodes and resamples one stream. What comes out, put together, does not depend on the cuts."""

    def __init__(self, part: int, rate_hertz: int, settings: VoiceSettings) -> None:
        """Begin a stream.

        Raises:
            BadMedia: no rate that audio has.
        """
        if rate_hertz not in SAMPLE_RATES_HERTZ:
            raise BadMedia(f"voice {part}: {rate_hertz} Hz is not taken")
        self._part = part
        self._rate_hertz = rate_hertz
        self._max_seconds = settings.max_seconds
        self._decoder = Linear16Decoder(part)
        self._resampler = soxr.ResampleStream(rate_hertz, SAMPLE_RATE_HERTZ, 1, dtype="float32")
        self._count = 0

    def take(self, chunk: bytes) -> tuple[Samples, bool]:
        """Return the 16 kHz samples that are certain by now, and False: more may come. Blocking.

        Raises:
            TooLarge: the stream is longer than `intake.voice.max_seconds`.
        """
        samples = self._decoder.feed(chunk)
        self._count += len(samples)
        require_seconds(self._count, self._rate_hertz, self._max_seconds)
        return self._resampler.resample_chunk(samples), False

    def finish(self) -> tuple[Samples, bool]:
        """Return the samples that the resampler held back, and True: these are the last. Blocking.

        Raises:
            BadMedia: nothing was sent.
        """
        if not self._count:
            raise BadMedia(f"voice {self._part}: the audio is empty")
        return self._resampler.resample_chunk(np.zeros(0, np.float32), last=True), True

    def require_whole(self) -> None:
        """Make sure that the stream did not end in the middle of a sample.

        Raises:
            BadMedia: it did.
        """
        self._decoder.finish()
