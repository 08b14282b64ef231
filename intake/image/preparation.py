"""preprocess.json: how a model wants its pictures; and a picture prepared in that way."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from headworks.intake.image.picture import Pixels

_MAX_SIZE = 2048
"""Pixels. CLIP models take 224 to 512; a larger number is a mistake in the file, and costs memory by its square."""
_MAX_CONTEXT_TOKENS = 4096
"""CLIP models take 77, and those for long texts 248; more is a mistake in the file, too."""
_SLIMMEST = 16
"""Long side over short side. `Resize.SHORTEST` enlarges a slimmer picture to very many pixels and then looks at its
middle only, so the middle is cut out first."""


class Resize(StrEnum):
    """How a picture becomes a square, by open_clip's names."""

    SHORTEST = "shortest"
    """Short side to size, then the centre square: what sticks out is not seen."""
    LONGEST = "longest"
    """Long side to size, centred on a ground of `fill`: all is seen, and smaller."""
    SQUASH = "squash"
    """Both sides to size."""


class Interpolation(StrEnum):
    """Pillow's filters that CLIP models are trained with."""

    BICUBIC = "bicubic"
    BILINEAR = "bilinear"


_FILTERS = {
    Interpolation.BICUBIC: Image.Resampling.BICUBIC,
    Interpolation.BILINEAR: Image.Resampling.BILINEAR,
}


@dataclass(frozen=True, slots=True)
class ClipPreprocessing:
    """The fields of preprocess.json: how this model wants its inputs. Those with a default may be left out."""

    size: int
    """Side of the square, pixels."""
    mean: tuple[float, float, float]
    """Of RGB in [0, 1]."""
    std: tuple[float, float, float]
    context_tokens: int
    """Length of every text, padded or cut; 77 for OpenAI's."""
    logit_scale: float
    """What cosines are multiplied by before the softmax; 100 for OpenAI's."""
    pad_token: int = 0
    resize: Resize = Resize.SHORTEST
    fill: tuple[int, int, int] = (0, 0, 0)
    """RGB of the ground, 0 to 255."""
    interpolation: Interpolation = Interpolation.BICUBIC

    def __post_init__(self) -> None:
        checks = {
            "size": _is_count(self.size) and self.size <= _MAX_SIZE,
            "mean": len(self.mean) == 3 and all(map(_is_number, self.mean)),
            "std": len(self.std) == 3 and all(_is_number(one) and one > 0 for one in self.std),
            "context_tokens": _is_count(self.context_tokens) and self.context_tokens <= _MAX_CONTEXT_TOKENS,
            "logit_scale": _is_number(self.logit_scale) and self.logit_scale > 0,
            "pad_token": self.pad_token == 0 or _is_count(self.pad_token),
            "fill": len(self.fill) == 3 and all(type(one) is int and 0 <= one < 256 for one in self.fill),
        }
        for name, is_right in checks.items():
            if not is_right:
                raise ValueError(f"preprocess.json: {name} cannot be {getattr(self, name)!r}")


def parse_preprocessing(text: str) -> ClipPreprocessing:
    """Read preprocess.json.

    Raises:
        ValueError: not JSON, a field too many or too few, or one of the wrong kind or range; it says which.
    """
    raw = json.loads(text)
    known = [one.name for one in fields(ClipPreprocessing)]
    if not isinstance(raw, dict) or raw.keys() - set(known):
        raise ValueError(f"preprocess.json: not an object of {', '.join(known)} alone")
    try:
        return ClipPreprocessing(**{name: _field(name, value) for name, value in raw.items()})
    except TypeError as error:
        raise ValueError(f"preprocess.json: {error}") from error


def write_preprocessing(how: ClipPreprocessing) -> str:
    """Return the text of preprocess.json."""
    body: Mapping[str, Any] = {one.name: getattr(how, one.name) for one in fields(how)}
    return json.dumps(body, indent=2) + "\n"


def prepare(pixels: Pixels, how: ClipPreprocessing) -> NDArray[np.float32]:
    """Make the square and normalise it.

    Returns:
        float32, shape (1, 3, size, size).
    Source:
        open_clip 3.3.0, transform.py, image_transform(is_train=False), with Pillow pictures.
    """
    image = _square(Image.fromarray(pixels), how)
    values = np.asarray(image, dtype=np.float32) / 255
    normal = (values - np.array(how.mean, np.float32)) / np.array(how.std, np.float32)
    return np.ascontiguousarray(normal.transpose(2, 0, 1)[None], dtype=np.float32)


def _square(image: Image.Image, how: ClipPreprocessing) -> Image.Image:
    size, kernel = how.size, _FILTERS[how.interpolation]
    match how.resize:
        case Resize.SQUASH:
            return image.resize((size, size), kernel)
        case Resize.LONGEST:
            ratio = max(image.size) / size
            wide, tall = (max(1, round(side / ratio)) for side in image.size)
            ground = Image.new("RGB", (size, size), how.fill)
            ground.paste(image.resize((wide, tall), kernel), ((size - wide) // 2, (size - tall) // 2))
            return ground
        case Resize.SHORTEST:
            image = _middle(image)
            short = min(image.size)
            wide, tall = (int(size * side / short) for side in image.size)
            left, top = round((wide - size) / 2), round((tall - size) / 2)
            return image.resize((wide, tall), kernel).crop((left, top, left + size, top + size))


def _middle(image: Image.Image) -> Image.Image:
    """Cut a slim picture to `_SLIMMEST`, about its centre; any other one is returned as it is."""
    most = _SLIMMEST * min(image.size)
    wide, tall = (min(side, most) for side in image.size)
    if (wide, tall) == image.size:
        return image
    left, top = (image.width - wide) // 2, (image.height - tall) // 2
    return image.crop((left, top, left + wide, top + tall))


def _field(name: str, value: Any) -> Any:
    match name:
        case "mean" | "std" | "fill":
            return tuple(value)
        case "resize":
            return Resize(value)
        case "interpolation":
            return Interpolation(value)
    return value


def _is_count(value: object) -> bool:
    return type(value) is int and value > 0


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
