"""WAV, FLAC, OGG and MP3: what a file holds is found and measured before anything is decoded."""

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.voice.contents import Contents
from headworks.intake.voice.decoder import FileDecoder, unreadable
from headworks.intake.voice.encoding import SAMPLE_RATE_HERTZ
from headworks.intake.voice.flac import is_flac, read_flac
from headworks.intake.voice.limits import PieceCounter, require_seconds
from headworks.intake.voice.mpeg import read_mpeg
from headworks.intake.voice.ogg import OGG_MAGIC, read_ogg
from headworks.intake.voice.pcm import Samples
from headworks.intake.voice.settings import VoiceSettings
from headworks.intake.voice.tags import skip_tags_and_zeros
from headworks.intake.voice.wav import WAV_MAGICS, read_wav

_OTHERS = {
    (0, b"FORM"): "AIFF",
    (0, b".snd"): "AU",
    (0, b"caff"): "CAF",
    (0, b"riff"): "Wave64",
    (0, b"#!AMR"): "AMR",
    (0, b"\x1a\x45\xdf\xa3"): "WebM",
    (0, b"\x30\x26\xb2\x75"): "WMA",
    (4, b"ftyp"): "MP4",
}
"""Signs, and where they stand, of formats that are refused by name: of none of them is it known what a cut one does."""


class ContainerReader:
    """Decodes a whole file block by block to 16 kHz mono; files that were joined are heard one after the other."""

    def __init__(self, data: bytes | bytearray, part: int, settings: VoiceSettings) -> None:
        """Read the headers. Blocking.

        Raises:
            BadMedia: empty, not audio of a known kind, damaged or cut short.
            TooLarge: longer than `intake.voice.max_seconds` by its headers, of more pieces than
                `intake.voice.max_container_pieces`, or of more files than `intake.voice.max_joined_files`.
        """
        if not data:
            raise BadMedia(f"voice {part}: the audio is empty")
        files = _read_contents(data, part, settings).files
        self._decoders = [FileDecoder(file, part) for file in files]
        require_seconds(sum(decoder.samples for decoder in self._decoders), SAMPLE_RATE_HERTZ, settings.max_seconds)

    @property
    def is_over(self) -> bool:
        """Whether the last block was read."""
        return not self._decoders

    def read(self) -> tuple[Samples, bool]:
        """Decode the next five seconds or less. Blocking.

        Returns:
            (16 kHz mono in about [-1, 1], whether the file ends here).
        Raises:
            BadMedia: damaged, or shorter than its header says.
        """
        decoder = self._decoders[0]
        samples = decoder.read()
        if decoder.is_over:
            del self._decoders[0]
        return samples, self.is_over


def _read_contents(data: bytes | bytearray, part: int, settings: VoiceSettings) -> Contents:
    pieces = PieceCounter(settings.max_container_pieces)
    at = skip_tags_and_zeros(data, 0, pieces)
    start = bytes(data[at : at + 12])
    contents: Contents | None
    if is_flac(start):
        name, contents = "FLAC", read_flac(data, at, pieces)
    elif start[:4] == OGG_MAGIC:
        name, contents = "OGG", read_ogg(data, at, pieces)
    elif start[:4] in WAV_MAGICS and start[8:] == b"WAVE":
        name, contents = "WAV", read_wav(data, at, pieces)
    else:
        name, contents = "MP3", read_mpeg(data, at, settings.max_seconds, pieces)
    if contents is None:
        raise _unknown(bytes(data[:12]), part)
    if contents.fault:
        raise BadMedia(f"voice {part}: the {name} file {contents.fault}")
    if (joined := len(contents.files)) > settings.max_joined_files:
        raise TooLarge("intake.voice.max_joined_files", settings.max_joined_files, joined)
    return contents


def _unknown(start: bytes, part: int) -> BadMedia:
    for (at, sign), name in _OTHERS.items():
        if start[at:].startswith(sign):
            return BadMedia(f"voice {part}: {name} audio is not taken; send WAV, FLAC, OGG or MP3")
    return unreadable(part)
