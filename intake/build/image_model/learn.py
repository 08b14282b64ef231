"""The training loop: open_clip's model and loss, checkpoints, and the pick of the best one."""

import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import open_clip
import torch
from torch.utils.data import DataLoader, IterableDataset

from headworks.intake.build.image_model.batches import Batches
from headworks.intake.build.image_model.progress import Progress
from headworks.intake.build.image_model.validation import Validation

CONFIG = Path(__file__).with_name("model_config.json")
MEAN = STD = (0.5, 0.5, 0.5)
"""Of RGB in [0, 1]."""


@dataclass(frozen=True, slots=True)
class LearnSettings:
    """How long and how fast."""

    steps: int = 6600
    peak_rate: float = 1.5e-3
    warmup_steps: int = 300
    decay_share: float = 0.4
    """Of the steps, at the end, over which the rate falls to nothing."""
    weight_decay: float = 0.1
    check_every: int = 300
    """Steps between validations, each of which also writes a checkpoint."""
    seed: int = 20261130


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the curve."""

    step: int
    seconds: float
    """Of training, all runs together."""
    loss: float
    """Mean since the last point."""
    emoji_top1: float
    kind_top1: float

    @property
    def score(self) -> float:
        """What the best checkpoint is picked by."""
        return (self.emoji_top1 + self.kind_top1) / 2


def make_model(seed: int) -> "open_clip.CLIP":
    """Build the untrained model of `model_config.json`, the same for the same seed."""
    torch.manual_seed(seed)
    return open_clip.CLIP(**json.loads(CONFIG.read_text("utf-8")))


def learn(
    batches: Batches, validation: Validation, settings: LearnSettings, folder: Path, progress: Progress
) -> list[Point]:
    """Train from the folder's checkpoint on, or from nothing; leave `best.pt` (weights) and `curve.json` there."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = make_model(settings.seed).to(device, memory_format=torch.channels_last)
    optimizer = _optimizer(model, settings)
    loss_of = open_clip.ClipLoss()
    step, curve = _resume(folder, model, optimizer, device)
    spent = curve[-1].seconds if curve else 0.0
    began, losses = time.monotonic(), []
    mean, std = (torch.tensor(values, device=device).view(1, 3, 1, 1) for values in (MEAN, STD))
    for pictures, tokens in _stream(batches, step, settings.steps):
        for group in optimizer.param_groups:
            group["lr"] = settings.peak_rate * _rate(step, settings)
        inputs = ((pictures.to(device).float() / 255 - mean) / std).contiguous(memory_format=torch.channels_last)
        with torch.autocast(device.type, torch.bfloat16):
            image, text, scale = model(inputs, tokens.to(device))
        loss = loss_of(image.float(), text.float(), scale)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0, math.log(100))
        losses.append(loss.item())
        step += 1
        progress.step("train", step, settings.steps, f"loss {losses[-1]:.3f}")
        if step % settings.check_every == 0 or step == settings.steps:
            seconds = spent + time.monotonic() - began
            scores = validation.of(model)
            curve.append(Point(step, seconds, sum(losses) / len(losses), *scores))
            losses = []
            _save(folder, model, optimizer, step, curve)
            progress.note(f"step {step}: emoji {scores[0]:.3f}, kinds {scores[1]:.3f}, loss {curve[-1].loss:.3f}")
    return curve


class _Numbered(IterableDataset[tuple[torch.Tensor, torch.Tensor]]):
    """Batches from one number to another, made in the loader's process."""

    def __init__(self, batches: Batches, first: int, last: int) -> None:
        self._batches, self._numbers = batches, range(first, last)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        torch.set_num_threads(1)
        return map(self._batches.batch, self._numbers)


def _stream(batches: Batches, first: int, last: int) -> DataLoader[tuple[torch.Tensor, torch.Tensor]]:
    return DataLoader(_Numbered(batches, first, last), batch_size=None, num_workers=1, prefetch_factor=3)


def _rate(step: int, settings: LearnSettings) -> float:
    """Share of the peak rate: up, level, then down to zero along half a cosine."""
    falling = settings.steps * settings.decay_share
    left = min(1.0, (settings.steps - step) / falling)
    return min(1.0, (step + 1) / settings.warmup_steps) * 0.5 * (1 - math.cos(math.pi * left))


def _optimizer(model: torch.nn.Module, settings: LearnSettings) -> torch.optim.AdamW:
    flat = [value for value in model.parameters() if value.ndim < 2]
    deep = [value for value in model.parameters() if value.ndim >= 2]
    groups = [{"params": deep, "weight_decay": settings.weight_decay}, {"params": flat, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.peak_rate, betas=(0.9, 0.98), eps=1e-6)


def _resume(
    folder: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer, device: torch.device
) -> tuple[int, list[Point]]:
    path = folder / "checkpoint.pt"
    if not path.exists():
        return 0, []
    state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"], [Point(**point) for point in state["curve"]]


def _save(
    folder: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer, step: int, curve: list[Point]
) -> None:
    points = [asdict(point) for point in curve]
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step, "curve": points}
    _write(folder / "checkpoint.pt", state)
    if curve[-1].score >= max(point.score for point in curve):
        _write(folder / "best.pt", model.state_dict())
    (folder / "curve.json").write_text(json.dumps(points, indent=1), "utf-8")


def _write(path: Path, state: object) -> None:
    part = path.with_suffix(".part")
    torch.save(state, part)
    part.rename(path)
