"""Silero VAD: the probability of speech in each window of 32 ms."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headworks.intake.models.store import ModelKind, ModelStore
from headworks.intake.onnx.session import Session, open_session
from headworks.intake.onnx.settings import OnnxSettings

WINDOW_SAMPLES = 512
"""The only size that Silero VAD takes at 16 kHz."""
_CONTEXT_SAMPLES = 64
"""The samples of the window before that the model wants in front of each window (silero_vad 6.2.3, utils_vad.py)."""
_STATE_SHAPE = (1, 1, 128)
"""The shape of the model's inputs h and c, which carry what it has heard: layers, streams, width."""


class VadModel:
    """The graph, which all streams share."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @classmethod
    def load(cls, store: ModelStore, settings: OnnxSettings) -> "VadModel":
        """Open the store's model.

        Raises:
            ModelMissing: not there, or damaged.
        """
        return cls(open_session(store.find(ModelKind.VAD).path / "silero_vad.onnx", settings))

    def stream(self) -> "VadStream":
        """Begin a stream."""
        return VadStream(self._session)


class VadStream:
    """What the model remembers of one stream. Only one thread at a time may use it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._context = np.zeros(_CONTEXT_SAMPLES, np.float32)
        self._h = np.zeros(_STATE_SHAPE, np.float32)
        self._c = np.zeros(_STATE_SHAPE, np.float32)

    def feed(self, windows: NDArray[np.float32]) -> Sequence[float]:
        """Return the probability of speech of each window, in [0, 1]. Blocking.

        Args:
            windows: Shape (n, 512), n from 0, in order and without a gap to the ones before.
        Source:
            silero_vad 6.2.3, sequence_vad.py: each window is preceded by the last 64 samples before it.
        """
        if not len(windows):
            return ()
        before = np.vstack((self._context, windows[:-1, -_CONTEXT_SAMPLES:]))
        self._context = windows[-1, -_CONTEXT_SAMPLES:].copy()
        outputs = self._session.run({"input": np.hstack((before, windows)), "h": self._h, "c": self._c})
        self._h, self._c = outputs["hn"], outputs["cn"]
        return [float(probability) for probability in outputs["speech_probs"]]
