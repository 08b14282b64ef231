"""What a transparent picture is laid on."""

import numpy as np
from numpy.typing import NDArray

WHITE = 255


def lay(band: NDArray[np.uint8], ground: int) -> NDArray[np.uint8]:
    """Blend RGBA with a grey ground; returns RGB of the same size."""
    colour, alpha = band[:, :, :3].astype(np.uint16), band[:, :, 3:].astype(np.uint16)
    blended: NDArray[np.uint16] = (colour * alpha + ground * (255 - alpha) + 127) // 255
    return blended.astype(np.uint8)
