"""Several channels in, one out."""

import numpy as np
from numpy.typing import NDArray

from headworks.intake.voice.pcm import Samples

_SECONDS = 1
"""The length that one choice is made for: no word is lost in it, and no click comes often."""
_LEAST_SHARE = 0.1
"""The least share that is left of the energy that unrelated channels keep when they are averaged. Speech that keeps
less is over 10 dB quieter than it was, and goes under in noise."""


class Mixdown:
    """Averages the channels, or takes one of them where the average cancels out.

    Channels of opposite phase, as a cable with swapped wires makes them, average to silence. So each second, counted
    from the file's first sample, is weighed by itself. When the average keeps less than a tenth of the energy that it
    would have if the channels were unrelated, the second is taken from the loudest channel. A channel once taken is
    kept while it has half of the loudest one's energy, so that equal channels do not take turns.
    """

    def __init__(self, rate_hertz: int) -> None:
        self._second = _SECONDS * rate_hertz
        self._channel = 0

    def feed(self, block: NDArray[np.float32]) -> Samples:
        """Return the block as one channel, shape (n,).

        Args:
            block: Shape (n, channels), range [-1, 1]; n is a number of whole seconds, but for the file's last block.
        """
        if block.shape[1] == 1:
            return block[:, 0]
        mixed = np.empty(len(block), np.float32)
        for start in range(0, len(block), self._second):
            end = start + self._second
            mixed[start:end] = self._mix(block[start:end])
        return mixed

    def _mix(self, second: NDArray[np.float32]) -> Samples:
        average: Samples = second.mean(axis=1, dtype=np.float32)
        energies = np.square(second, dtype=np.float64).sum(axis=0)
        unrelated = energies.sum() / second.shape[1] ** 2
        if np.square(average, dtype=np.float64).sum() >= _LEAST_SHARE * unrelated:
            return average
        if energies[self._channel] < energies.max() / 2:
            self._channel = int(energies.argmax())
        return second[:, self._channel]
