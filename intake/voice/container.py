"""WAV, FLAC, OGG and MP3 through libsndfile, sized from the header before anything is decoded."""

import io

import numpy as np
import soundfile
import soxr

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.voice.encoding import SAMPLE_RATE_HERTZ, SAMPLE_RATES_HERTZ
from headworks.intake.voice.mpeg import read_frames
from headworks.intake.voice.pcm import Samples
from headworks.intake.voice.settings import VoiceSettings

_FORMATS = {"WAV", "WAVEX", "FLAC", "OGG", "MP3"}
_BLOCK_SECONDS = 5
_MAX_CHANNELS = 8
_UNKNOWN_FRAMES = 2**63 - 1
"""What libsndfile says of a FLAC that was written into a pipe: its header has no length, and reading it fails."""
_OGG_HEADER_BYTES = 27
_OGG_LAST_PAGE = 4


class ContainerReader:
    """Decodes a whole file block by block to 16 kHz mono, so that a long file never lies decoded in memory.

    Nothing closes the file but the end of the reader's life: a read that outlives a cancelled turn still uses it.
    """

    def __init__(self, data: bytes | bytearray, part: int, settings: VoiceSettings) -> None:
        """Read the header. Blocking.

        Raises:
            BadMedia: empty, not audio of a known kind, or cut short.
            TooLarge: longer than `intake.voice.max_seconds` by its header.
        """
        if not data:
            raise BadMedia(f"voice {part}: the audio is empty")
        self._part = part
        self._max_seconds = settings.max_seconds
        self._frames = 0
        self.is_over = False
        """Whether the last block was read."""
        if (frames := read_frames(data)) is not None:
            if frames.fault:
                raise BadMedia(f"voice {part}: the MP3 file {frames.fault}")
            data = frames.data
        try:
            self._file = soundfile.SoundFile(io.BytesIO(data))
        except (soundfile.LibsndfileError, ValueError) as error:
            raise self._unreadable() from error
        self._check(data)
        self._resampler = soxr.ResampleStream(self._file.samplerate, SAMPLE_RATE_HERTZ, 1, dtype="float32")

    def read(self) -> tuple[Samples, bool]:
        """Decode the next five seconds. Blocking.

        Returns:
            (16 kHz mono in about [-1, 1], whether the file ends here); channels are mixed, NaN is silence.
        Raises:
            BadMedia: damaged, or shorter than its header says.
            TooLarge: longer than its header said and than `intake.voice.max_seconds`.
        """
        wanted = _BLOCK_SECONDS * self._file.samplerate
        try:
            block = self._file.read(wanted, dtype="float32", always_2d=True)
        except (soundfile.LibsndfileError, ValueError) as error:
            raise self._unreadable() from error
        self._frames += len(block)
        require_seconds(self._frames, self._file.samplerate, self._max_seconds)
        self.is_over = len(block) < wanted
        if self.is_over:
            self._require_all()
        mono = np.clip(np.nan_to_num(block), -1.0, 1.0).mean(axis=1, dtype=np.float32)
        samples: Samples = self._resampler.resample_chunk(mono, last=self.is_over)
        return samples, self.is_over

    def _check(self, data: bytes | bytearray) -> None:
        file, part = self._file, self._part
        if file.format not in _FORMATS:
            raise BadMedia(f"voice {part}: {file.format} audio is not taken; send WAV, FLAC, OGG or MP3")
        if file.samplerate not in SAMPLE_RATES_HERTZ or not 1 <= file.channels <= _MAX_CHANNELS:
            raise BadMedia(f"voice {part}: {file.samplerate} Hz in {file.channels} channels is not taken")
        if file.frames == _UNKNOWN_FRAMES:
            raise BadMedia(f"voice {part}: the {file.format} header names no length; send a file that does")
        require_seconds(file.frames, file.samplerate, self._max_seconds)
        if file.format in ("WAV", "WAVEX") and _is_cut_wav(file):
            raise BadMedia(f"voice {part}: the WAV file ends before the last sample that its header names")
        if file.format == "OGG" and _is_cut_ogg(data):
            raise BadMedia(f"voice {part}: the OGG file ends before the page that is marked as its last")

    def _require_all(self) -> None:
        if self._frames == 0:
            raise BadMedia(f"voice {self._part}: the file holds no samples")
        if self._frames < self._file.frames:
            raise BadMedia(
                f"voice {self._part}: the file ends after {self._frames} of the {self._file.frames} samples "
                "that its header names"
            )

    def _unreadable(self) -> BadMedia:
        return BadMedia(f"voice {self._part}: not a readable WAV, FLAC, OGG or MP3 file")


def require_seconds(frames: int, rate_hertz: int, max_seconds: int) -> None:
    """Hold a length to `intake.voice.max_seconds`.

    Raises:
        TooLarge: it is longer.
    """
    if frames > max_seconds * rate_hertz:
        raise TooLarge("intake.voice.max_seconds", max_seconds, -(-frames // rate_hertz))


def _is_cut_wav(file: soundfile.SoundFile) -> bool:
    """libsndfile reads a cut WAV as a shorter one; its header's own count is in the log of what it parsed."""
    for line in file.extra_info.splitlines():
        name, _, rest = line.partition(":")
        if name.strip() == "data" and "should be" in rest:
            return True
    return False


def _is_cut_ogg(data: bytes | bytearray) -> bool:
    """libsndfile reads a cut OGG as a shorter one; the last page is marked (RFC 3533, section 6)."""
    start = data.rfind(b"OggS")
    header = data[start : start + _OGG_HEADER_BYTES]
    if start < 0 or len(header) < _OGG_HEADER_BYTES or not header[5] & _OGG_LAST_PAGE:
        return True
    lengths = data[start + _OGG_HEADER_BYTES : start + _OGG_HEADER_BYTES + header[26]]
    return start + _OGG_HEADER_BYTES + header[26] + sum(lengths) > len(data)
