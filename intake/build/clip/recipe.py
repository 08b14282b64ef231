"""CLIP for the store: two ONNX graphs, and the tokenizer, preprocessing and labels beside them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headworks.intake.build.clip.source import PACKAGE, ClipParts, ClipSource, choose_tag
from headworks.intake.build.errors import PullFailed
from headworks.intake.build.recipe import Step
from headworks.intake.image.label_sets import default_label_sets, prompts_of, write_label_sets
from headworks.intake.image.preparation import ClipPreprocessing, Interpolation, Resize, write_preprocessing
from headworks.intake.models.store import ModelKind

LABELS, PREPROCESS = "labels.json", "preprocess.json"
_ID = re.compile(r"([A-Za-z0-9][\w.-]{0,63})(?::([\w.-]{1,63}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ExportedClip:
    """A model of a `ClipSource`, exported and compared. Made by `exported_clip`."""

    model: str
    tag: str
    clips: ClipSource
    kind: ModelKind = ModelKind.CLIP
    revision: int = 1

    @property
    def name(self) -> str:
        """Model and tag."""
        return f"{self.model}--{self.tag}"

    @property
    def source(self) -> str:
        """open_clip, and the names there."""
        return f"open_clip {self.model}:{self.tag}"

    def versions(self) -> Mapping[str, str]:
        """Return the library's version."""
        return {PACKAGE: self.clips.version()}

    def build(self, into: Path, downloads: Path, step: Step) -> Mapping[str, str]:
        """Download, export, write the default label sets, compare."""
        step("download", 0, 1)
        downloads.mkdir(parents=True, exist_ok=True)
        parts = self.clips.fetch(self.model, self.tag, downloads)
        step("download", 1, 1)
        return write_clip(parts, into, step)


def exported_clip(asked: str, clips: ClipSource) -> ExportedClip:
    """Read "NAME[:TAG]".

    Raises:
        PullFailed: not of this form, or not to be had.
    """
    parsed = _ID.fullmatch(asked)
    if parsed is None:
        raise PullFailed(f"{asked!r} is not an OpenCLIP model; write it as NAME or NAME:TAG, as ViT-B-32:openai.")
    model, wanted = parsed.groups()
    return ExportedClip(model, choose_tag(clips.tags(model), wanted, model), clips)


def write_clip(parts: ClipParts, into: Path, step: Step) -> Mapping[str, str]:
    """Write a model's files as `ClipModel.load` wants them, and compare them with the model.

    Returns:
        The differences measured.
    Raises:
        ExportMismatch: they are over the tolerance.
        PullFailed: a model that cannot be exported.
    """
    from headworks.intake.build.clip.check import compare
    from headworks.intake.build.clip.export import export
    from headworks.intake.build.clip.tokenizer import write_tokenizer

    step("export", 0, 2)
    try:
        export(parts.model, into)
        how = preprocessing(parts, write_tokenizer(parts.tokenizer, into))
    except PullFailed:
        raise
    except Exception as error:  # the exporter and open_clip name their reasons by many classes
        raise PullFailed(f"This model cannot be exported ({type(error).__name__}: {error}).") from error
    sets = default_label_sets()
    (into / PREPROCESS).write_text(write_preprocessing(how), "utf-8")
    (into / LABELS).write_text(write_label_sets(sets), "utf-8")
    step("compare", 1, 2)
    notes = compare(parts, into, [prompt for prompts in prompts_of(sets) for prompt in prompts], how)
    step("compare", 2, 2)
    return notes


def preprocessing(parts: ClipParts, pad_token: int) -> ClipPreprocessing:
    """Translate open_clip's `PreprocessCfg`; an interpolation of "random" is bicubic outside training, as there."""
    from headworks.intake.build.clip.export import context_tokens, image_size

    given = parts.preprocess
    is_bilinear = given["interpolation"] == Interpolation.BILINEAR
    return ClipPreprocessing(
        size=image_size(parts.model),
        mean=_three(given["mean"]),
        std=_three(given["std"]),
        context_tokens=context_tokens(parts.model),
        logit_scale=float(parts.model.logit_scale.exp().item()),
        pad_token=pad_token,
        resize=Resize(given["resize_mode"]),
        fill=(int(given["fill_color"]),) * 3,
        interpolation=Interpolation.BILINEAR if is_bilinear else Interpolation.BICUBIC,
    )


def _three(value: object) -> tuple[float, float, float]:
    red, green, blue = value if isinstance(value, (tuple, list)) else (value,) * 3
    return float(red), float(green), float(blue)
