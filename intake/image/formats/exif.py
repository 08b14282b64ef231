"""The one thing that Exif says about how a picture is seen. Pure."""

import struct

_ORDERS = {b"II*\0": "<", b"MM\0*": ">"}
"""Byte orders by the first four bytes of a TIFF block (TIFF 6.0, section 2)."""
_ORIENTATION = 0x0112
_SHORT = 3
_ENTRY_BYTES = 12


def read_orientation(block: bytes) -> int:
    """Return how the camera was held, 1 to 8 as in TIFF 6.0; 1, which is upright, where the block does not tell.

    Nothing in a damaged block can be worth the picture, so no byte of it raises an error.
    """
    order = _ORDERS.get(block[:4])
    if order is None:
        return 1
    try:
        (start,) = struct.unpack_from(f"{order}I", block, 4)
        (entries,) = struct.unpack_from(f"{order}H", block, start)
        for number in range(entries):
            tag, kind, values, value = struct.unpack_from(f"{order}HHIH", block, start + 2 + number * _ENTRY_BYTES)
            if tag == _ORIENTATION:
                return int(value) if (kind, values) == (_SHORT, 1) and 1 <= value <= 8 else 1
    except struct.error:
        return 1
    return 1
