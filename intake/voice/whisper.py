"""Whisper on ONNX Runtime: greedy decoding with a key/value cache, as whisper.decode does it without timestamps."""

import base64
import json
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headworks.intake.errors import ModelMissing
from headworks.intake.models.store import ModelKind, ModelStore
from headworks.intake.onnx.session import Held, Session, open_session
from headworks.intake.onnx.settings import OnnxSettings
from headworks.intake.voice.encoding import SAMPLE_RATE_HERTZ
from headworks.intake.voice.mel import WINDOW_SAMPLES, log_mel
from headworks.intake.voice.pcm import Samples

_STRIDE_SAMPLES = 320
"""The sound of one position of the encoder: two columns of the spectrogram."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """The words that Whisper heard, and how sure it was of them."""

    text: str
    token_ids: tuple[int, ...]
    """Whisper's own tokens without the end token."""
    confidence: float
    """The mean probability of the tokens, the end token included, in [0, 1]."""
    mean_log_probability: float
    """The mean logarithm of the same probabilities, at most 0. A few unlikely tokens lower it more than the mean."""
    no_speech_probability: float
    """The probability that nothing was said, as the model sees it before its first word, in [0, 1]."""
    is_ended: bool
    """Whether Whisper said itself that the words end here, before it had no tokens left."""

    @property
    def compression_ratio(self) -> float:
        """How many times smaller zlib makes the text: about 1 for a sentence, over 20 for one word 200 times.

        Source: whisper/utils.py, compression_ratio.
        """
        text = self.text.encode()
        return len(text) / len(zlib.compress(text))


@dataclass(frozen=True, slots=True)
class _Config:
    """The model's sizes, and the settings of whisper.DecodingTask. The recipe of the model writes them."""

    layers: int
    heads: int
    head_width: int
    initial_tokens: list[int]
    end_token: int
    suppressed_tokens: list[int]
    suppressed_at_start: list[int]
    max_tokens: int


class WhisperModel:
    """Both graphs, which all streams share. Any number of threads may transcribe at once."""

    def __init__(self, folder: Path, settings: OnnxSettings) -> None:
        """Open a model's folder.

        Raises:
            ModelMissing: something is not there, or damaged.
        """
        try:
            config = json.loads((folder / "config.json").read_text("utf-8"))
            self._config = _Config(**{name: config[name] for name in _Config.__slots__})
            self._bytes = [base64.b64decode(token) for token in json.loads((folder / "tokens.json").read_text("utf-8"))]
            self._filters: NDArray[np.float32] = np.load(folder / "mel_filters.npy")
        except (OSError, ValueError, KeyError) as error:
            raise ModelMissing("the Whisper model is damaged; run: headworks models pull") from error
        self._encoder: Session = open_session(folder / "encoder.onnx", settings)
        self._decoder: Session = open_session(folder / "decoder.onnx", settings)
        self.choice = self._decoder.choice
        """The execution provider in use, and why."""

    @classmethod
    def load(cls, store: ModelStore, settings: OnnxSettings) -> "WhisperModel":
        """Open the store's model. Raises as the constructor."""
        return cls(store.find(ModelKind.WHISPER).path, settings)

    def transcribe(self, samples: Samples, padding_seconds: int | None = None) -> Transcript:
        """Transcribe at most 30 s. Blocking.

        Args:
            samples: 16 kHz mono, range [-1, 1].
            padding_seconds: Silence after the samples; None fills up to 30 s, which is what Whisper knows best.
        """
        length = WINDOW_SAMPLES
        if padding_seconds is not None:
            wanted = len(samples) + padding_seconds * SAMPLE_RATE_HERTZ
            length = min(WINDOW_SAMPLES, -(-wanted // _STRIDE_SAMPLES) * _STRIDE_SAMPLES)
        _, cross = self._encoder.run_held({"mel": log_mel(samples, self._filters, length)}, ())
        return self._decode(cross)

    def _decode(self, cross: dict[str, Held]) -> Transcript:
        config = self._config
        empty = np.zeros((1, config.heads, 0, config.head_width), np.float32)
        parts = [f"{part}_{layer}" for layer in range(config.layers) for part in ("key", "value")]
        past: dict[str, NDArray[np.float32] | Held] = {f"past_{part}": empty for part in parts}
        tokens = config.initial_tokens
        chosen: list[int] = []
        probabilities: list[float] = []
        no_speech = 0.0
        for _ in range(config.max_tokens):
            inputs = {"tokens": np.array([tokens], np.int64), **cross, **past}
            fetched, present = self._decoder.run_held(inputs, ("logits",))
            past = {f"past_{part}": present[f"present_{part}"] for part in parts}
            if not probabilities:
                no_speech = _no_speech(fetched["logits"][0, 0], config)
            token, probability = self._pick(fetched["logits"][0, -1], is_first=not chosen)
            probabilities.append(probability)
            if token == config.end_token:
                break
            chosen.append(token)
            tokens = [token]
        text = b"".join(self._bytes[token] for token in chosen if token < len(self._bytes)).decode("utf-8", "replace")
        sure, logarithm = float(np.mean(probabilities)), float(np.mean(np.log(probabilities)))
        is_ended = len(probabilities) > len(chosen)
        return Transcript(text.strip(), tuple(chosen), sure, logarithm, no_speech, is_ended)

    def _pick(self, logits: NDArray[np.float32], *, is_first: bool) -> tuple[int, float]:
        logits[self._config.suppressed_tokens] = -np.inf
        if is_first:
            logits[self._config.suppressed_at_start] = -np.inf
        token = int(logits.argmax())
        return token, float(1.0 / np.exp(logits - logits[token]).sum())


def _no_speech(logits: NDArray[np.float32], config: _Config) -> float:
    """Return the probability of <|nospeech|> after the start token, before anything is suppressed.

    Source: whisper/decoding.py, DecodingTask._main_loop; whisper/tokenizer.py, get_encoding: <|notimestamps|>, our last
    initial token, stands right behind it in every vocabulary.
    """
    shares = np.exp(logits - logits.max())
    return float(shares[config.initial_tokens[-1] - 1] / shares.sum())
