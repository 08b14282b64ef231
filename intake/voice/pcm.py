"""Raw samples in, windows of equal size out. What comes out depends on the bytes, not on where they were cut."""

import numpy as np
from numpy.typing import NDArray

from headworks.intake.errors import BadMedia

Samples = NDArray[np.float32]


class Linear16Decoder:
    """Turn int16 little-endian bytes into float samples."""

    def __init__(self, part: int) -> None:
        self._part = part
        self._half = b""

    def feed(self, chunk: bytes) -> Samples:
        """Return the samples that are whole by now, shape (n,), range [-1, 1)."""
        data = self._half + chunk
        whole = len(data) // 2 * 2
        self._half = data[whole:]
        return np.frombuffer(data[:whole], "<i2").astype(np.float32) / 32768.0

    def finish(self) -> None:
        """End the stream.

        Raises:
            BadMedia: half a sample was left, so the sender cut or lost a byte.
        """
        if self._half:
            raise BadMedia(f"voice {self._part}: the audio ends in the middle of a 16-bit sample")


class WindowCutter:
    """Cut samples into windows of equal size."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._rest = np.zeros(0, np.float32)

    def feed(self, samples: Samples) -> NDArray[np.float32]:
        """Return the windows that are whole by now, shape (n, size)."""
        data = np.concatenate((self._rest, samples))
        whole = len(data) // self._size
        self._rest = data[whole * self._size :]
        return data[: whole * self._size].reshape(whole, self._size)

    def finish(self) -> NDArray[np.float32]:
        """Return the last window, filled up with silence; none when nothing was left. Shape (0 or 1, size)."""
        if not len(self._rest):
            return np.zeros((0, self._size), np.float32)
        last = np.zeros((1, self._size), np.float32)
        last[0, : len(self._rest)] = self._rest
        self._rest = np.zeros(0, np.float32)
        return last
