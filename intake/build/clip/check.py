"""An exported CLIP model beside the PyTorch model it came from."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headworks.intake.build.clip.source import ClipParts
from headworks.intake.build.clip.tokenizer import TOKENIZER
from headworks.intake.build.errors import ExportMismatch
from headworks.intake.image.preparation import ClipPreprocessing, prepare
from headworks.intake.image.prompt_tokens import tokenize

TOLERANCE = 5e-5
"""Largest difference in a component of a unit vector, both sides in float32; 3e-7 was seen with nine architectures."""
LEAST_COSINE = 0.99999
"""Between both sides' embeddings of one example."""
_EXAMPLES = 3
"""Pictures and texts; ONNX's reference takes seconds for each, and the graphs are traced with 2."""


def compare(parts: ClipParts, folder: Path, prompts: list[str], how: ClipPreprocessing) -> Mapping[str, str]:
    """Check tokens and graphs; return the measured differences.

    Args:
        prompts: The label prompts that the model will be asked; three at least.
    Raises:
        ExportMismatch: a prompt's tokens differ, or an embedding by more than `TOLERANCE`.
    """
    import torch

    from headworks.intake.build.clip.export import compare as compare_graphs

    tokens = tokenize(folder / TOKENIZER, prompts, how)
    wanted: NDArray[np.int64] = parts.tokenizer(prompts).numpy()
    if not np.array_equal(tokens, wanted):
        raise ExportMismatch("tokenizer.json reads the label prompts otherwise than open_clip; choose another model.")
    pixels = np.concatenate([prepare(picture, how) for picture in _pictures()])
    differences = compare_graphs(
        parts.model, folder, torch.from_numpy(pixels), torch.from_numpy(wanted[:: len(prompts) // _EXAMPLES])
    )
    for name, one in differences.items():
        if not (one.largest <= TOLERANCE and one.least_cosine >= LEAST_COSINE):
            raise ExportMismatch(
                f"The exported {name} is off by {one.largest:.2g} (cosine {one.least_cosine:.6f}), over {TOLERANCE}; "
                "the model was not stored."
            )
    return {f"{name}_difference": f"{one.largest:.1e}" for name, one in differences.items()}


def _pictures() -> list[NDArray[np.uint8]]:
    """Noise, and noise over slopes: other pictures than a white one, and the same on every machine."""
    noise = np.random.default_rng(0).integers(0, 256, (_EXAMPLES, 240, 320, 3), dtype=np.uint8)
    slope = np.linspace(0, 1, 320)[None, :, None]
    return [noise[0], (noise[1] * slope).astype(np.uint8), (noise[2] * slope[:, ::-1] ** 4).astype(np.uint8)]
