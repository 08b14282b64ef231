"""An exported Whisper beside the PyTorch model it came from, on real speech."""

from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headworks.intake.build.errors import ExportMismatch
from headworks.intake.onnx.session import open_session
from headworks.intake.onnx.settings import CPU, OnnxSettings

if TYPE_CHECKING:
    import whisper

LOGIT_TOLERANCE = 2e-3
"""Largest difference of a logit (their range is about 40), both sides in float32; 1e-4 was seen with tiny.en."""
SHORT_FRAMES = 1332
"""3.3 s of speech and 10 s of silence: what a partial transcript gives the encoder."""

SPEECH = "check.flac"
"""3.3 s at 16 kHz from a LibriVox reading of Sense and Sensibility (public domain)."""


def speech() -> NDArray[np.float32]:
    """Return the sample, shape (52641,), 16 kHz mono."""
    import soundfile

    with as_file(files("headworks.intake.build.whisper") / SPEECH) as path:
        samples, _ = soundfile.read(path, dtype="float32")
    found: NDArray[np.float32] = samples
    return found


def compare(model: "whisper.Whisper", folder: Path) -> Mapping[str, str]:
    """Check graphs and decoding settings; return the measured differences.

    Raises:
        ExportMismatch: a logit is off by more than `LOGIT_TOLERANCE`, or greedy decoding chose another token.
    """
    import whisper

    from headworks.intake.voice.whisper import WhisperModel

    samples = speech()
    mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(samples), model.dims.n_mels)
    options = whisper.DecodingOptions(language="en", without_timestamps=True, temperature=0.0, fp16=False)
    wanted = tuple(whisper.decode(model, mel, options).tokens)
    heard = WhisperModel(folder, OnnxSettings(providers=(CPU,))).transcribe(samples).token_ids
    if heard != wanted:
        raise ExportMismatch("The exported Whisper hears other words than PyTorch's; the model was not stored.")
    worst = {
        "logits_30_seconds": logit_difference(model, folder, mel.numpy(), wanted),
        "logits_short_window": logit_difference(model, folder, mel[:, :SHORT_FRAMES].numpy(), wanted),
    }
    for name, difference in worst.items():
        if not difference <= LOGIT_TOLERANCE:
            raise ExportMismatch(f"The exported Whisper is off by {difference:.2g} ({name}), over {LOGIT_TOLERANCE}.")
    return {name: f"{difference:.1e}" for name, difference in worst.items()}


def logit_difference(
    model: "whisper.Whisper", folder: Path, mel: NDArray[np.float32], tokens: tuple[int, ...]
) -> float:
    """Return the largest difference of a logit over all steps, the cache included.

    Args:
        mel: Shape (mels, frames).
        tokens: What both sides are made to say.
    """
    from headworks.intake.build.whisper.export import DECODER, ENCODER, cache_names, cross_names

    settings = OnnxSettings(providers=(CPU,))
    encoder, decoder = open_session(folder / ENCODER, settings), open_session(folder / DECODER, settings)
    layers, heads = model.dims.n_text_layer, model.dims.n_text_head
    cross = encoder.run({"mel": mel[None]})
    cross = {name: cross[name] for name in cross_names(layers)}
    empty = np.zeros((1, heads, 0, model.dims.n_text_state // heads), np.float32)
    past: dict[str, NDArray[Any]] = dict.fromkeys(cache_names("past", layers), empty)
    # The first step takes two tokens, as a real one takes several; the others take one.
    said = np.array([[model.dims.n_vocab - 1, 0, *tokens]], np.int64)
    expected = _teacher_forced(model, mel, said)
    worst = 0.0
    for start, end in [(0, 2), *((at, at + 1) for at in range(2, said.shape[1]))]:
        found = decoder.run({"tokens": said[:, start:end], **cross, **past})
        past = {f"past_{name[8:]}": value for name, value in found.items() if name.startswith("present_")}
        worst = max(worst, float(np.abs(found["logits"] - expected[:, start:end]).max()))
    return worst


def _teacher_forced(
    model: "whisper.Whisper", mel: NDArray[np.float32], tokens: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Whisper's own forward. For a shorter window its position table is cut: the encoder insists on its length."""
    import torch

    table = model.encoder.positional_embedding
    try:
        model.encoder.positional_embedding = table[: mel.shape[1] // 2]
        with torch.no_grad():
            logits: NDArray[np.float32] = model(torch.from_numpy(mel[None].copy()), torch.from_numpy(tokens)).numpy()
    finally:
        model.encoder.positional_embedding = table
    return logits
