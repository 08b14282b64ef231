"""One whole file through libsndfile, block by block, to 16 kHz mono."""

import io

import numpy as np
import soundfile
import soxr

from headworks.intake.errors import BadMedia
from headworks.intake.voice.encoding import SAMPLE_RATE_HERTZ, SAMPLE_RATES_HERTZ
from headworks.intake.voice.mixdown import Mixdown
from headworks.intake.voice.pcm import Samples

_BLOCK_SECONDS = 5
"""What is decoded at once: 15 MB at 96 kHz in 8 channels, and less than a second of work."""
_MAX_CHANNELS = 8
"""As many as surround sound has (7.1)."""


class FileDecoder:
    """Decodes one file, so that a long one never lies decoded in memory.

    Nothing closes the file but the end of the decoder's life: a read that outlives a cancelled turn still uses it.
    """

    def __init__(self, data: bytes, part: int) -> None:
        """Read the header. Blocking.

        Raises:
            BadMedia: libsndfile does not know it, or it has a rate or channels that are not taken.
        """
        self._part = part
        try:
            self._file = soundfile.SoundFile(io.BytesIO(data))
        except (soundfile.LibsndfileError, ValueError) as error:
            raise unreadable(part) from error
        rate, channels = self._file.samplerate, self._file.channels
        if rate not in SAMPLE_RATES_HERTZ or not 1 <= channels <= _MAX_CHANNELS:
            raise BadMedia(f"voice {part}: {rate} Hz in {channels} channels is not taken")
        self._mixdown = Mixdown(rate)
        self._resampler = soxr.ResampleStream(rate, SAMPLE_RATE_HERTZ, 1, dtype="float32")
        self._decoded = 0
        self.is_over = False
        """Whether the last block was read."""

    @property
    def samples(self) -> int:
        """The length by the header, in samples at 16 kHz."""
        frames: int = self._file.frames
        rate: int = self._file.samplerate
        return -(-frames * SAMPLE_RATE_HERTZ // rate)

    def read(self) -> Samples:
        """Decode the next five seconds. Blocking.

        Returns:
            16 kHz mono in about [-1, 1]; NaN is silence, and what is louder than full is full.
        Raises:
            BadMedia: damaged, or shorter than its header says.
        """
        wanted = _BLOCK_SECONDS * self._file.samplerate
        try:
            block = self._file.read(wanted, dtype="float32", always_2d=True)
        except (soundfile.LibsndfileError, ValueError) as error:
            raise unreadable(self._part) from error
        self._decoded += len(block)
        self.is_over = len(block) < wanted
        if self.is_over:
            self._require_all()
        mono = self._mixdown.feed(np.clip(np.nan_to_num(block), -1.0, 1.0))
        samples: Samples = self._resampler.resample_chunk(mono, last=self.is_over)
        return samples

    def _require_all(self) -> None:
        if self._decoded == 0:
            raise BadMedia(f"voice {self._part}: the file holds no samples")
        if self._decoded < self._file.frames:
            raise BadMedia(
                f"voice {self._part}: the file ends after {self._decoded} of the {self._file.frames} samples "
                "that its header names"
            )


def unreadable(part: int) -> BadMedia:
    """Return the error for a file that no decoder knows."""
    return BadMedia(f"voice {part}: not a readable WAV, FLAC, OGG or MP3 file")
