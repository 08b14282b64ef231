"""The tags that music programs write before and after the sound of a file, whatever its format.

Source: ID3v2.4, section 3.1; ID3v1 and its extension; APEv2; Lyrics3 v2.
"""

import re

from headworks.intake.voice.limits import PieceCounter

_START_BYTES = 32
"""The longest start that tells a tag and its length: that of APEv2."""
_ID3_HEADER_BYTES = 10
_ID3_FOOTER_FLAG = 0x10
_ID3V1_BYTES = 128
_EXTENDED_ID3V1_BYTES = 227
"""The length of the tag that "TAG+" begins; it stands before the one that "TAG" begins."""
_LYRICS_END = re.compile(rb"LYRICS(END|200)")
_ZEROS = re.compile(rb"\0*")


def skip_tags(data: bytes | bytearray, at: int, pieces: PieceCounter) -> int:
    """Return where the tags that begin at `at` are over; this lies behind the end when the last one is cut.

    Raises:
        TooLarge: there are more than `pieces` allows.
    """
    while (length := _tag_bytes(data, at)) > 0:
        pieces.count()
        at += length
    return at


def skip_tags_and_zeros(data: bytes | bytearray, at: int, pieces: PieceCounter) -> int:
    """Return where tags and the zeros around them are over, with which some writers fill up their last block."""
    while True:
        start = at
        at = skip_tags(data, at, pieces)
        if (zeros := _ZEROS.match(data, at)) is not None:
            at = max(at, zeros.end())
        if at == start:
            return at


def _tag_bytes(data: bytes | bytearray, at: int) -> int:
    """Return the length of the tag that begins here; 0 when none does."""
    start = bytes(data[at : at + _START_BYTES])
    if start.startswith(b"ID3") and len(start) >= _ID3_HEADER_BYTES:
        size = sum((byte & 0x7F) << shift for byte, shift in zip(start[6:10], (21, 14, 7, 0), strict=True))
        return _ID3_HEADER_BYTES + size + (_ID3_HEADER_BYTES if start[5] & _ID3_FOOTER_FLAG else 0)
    if start.startswith(b"TAG+"):
        return _EXTENDED_ID3V1_BYTES
    if start.startswith(b"TAG"):
        return _ID3V1_BYTES
    if start.startswith(b"APETAGEX") and len(start) == _START_BYTES:
        return _START_BYTES + int.from_bytes(start[12:16], "little")
    if start.startswith(b"LYRICSBEGIN") and (end := _LYRICS_END.search(data, at)):
        return end.end() - at
    return 0
