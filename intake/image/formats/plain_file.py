"""A picture file with nothing in it but its pixels."""

from dataclasses import dataclass

MOST_PARTS = 100_000
"""Chunks or segments of one file; walking them takes half a second. In pieces of 8 KiB, as libpng writes them, a file
of 16 MiB has 2,000."""


class Damaged(Exception):
    """The bytes end early or contradict each other where the pixels are described. Stays within this room."""


@dataclass(frozen=True, slots=True)
class PlainFile:
    """A picture file without its metadata, which is damaged more often than the pixels and tells nothing about them."""

    data: bytes
    exif: bytes = b""
    """The TIFF block of the file's Exif, as it came; empty when there is none."""
    twins: tuple[bytes, ...] = ()
    """The same file with other bytes after its last one; none where the file says itself that it is whole. They give
    the same pixels exactly when nothing is missing."""
    passes: int = 1
    """How often a decoder goes over all pixels: the scans of a JPEG."""
