"""The image-text model that ships: what it sees in pictures of tools and styles that it was never trained on.

Run `python -m bench.image_model`; npm must be on PATH, for the style that only tests is fetched and never shipped.
`--beside FOLDER` adds a second model, such as the untrained one that training leaves in build/image-model/untrained.
"""

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console
from rich.table import Table

from headworks.intake.build.image_model.labels import safety_answer
from headworks.intake.build.image_model.names import EmojiNames, held_out
from headworks.intake.build.image_model.progress import Progress
from headworks.intake.build.image_model.render import Sheet, on_white, render_role
from headworks.intake.build.image_model.sets import NAMES, Role, fetch
from headworks.intake.image.clip import ClipModel, Towers
from headworks.intake.image.label_sets import LabelRows, LabelSet, parse_label_sets
from headworks.intake.onnx.settings import OnnxSettings

SHIPPED = Path("intake/image/model")
DOCUMENTS = Path(__file__).with_name("pictures")
_SEED = 3
_NAMES = 200
_GRID = 10
"""Pairs are this many names beside this many others."""

Pictures = list[NDArray[np.uint8]]


@dataclass(frozen=True, slots=True)
class Task:
    """Pictures, and names of which one is right for each."""

    what: str
    pictures: Pictures
    prompts: tuple[tuple[str, ...], ...]
    """Of each name: the texts that stand for it together."""
    answers: NDArray[np.int64]
    top: tuple[int, ...]
    """Which shares to print: 1 is the best name, 5 one of the five best."""
    aim: str


def main() -> None:
    """Print the table."""
    options = _options()
    tasks = [*_emoji_tasks(options.cache), _document_task()]
    table = Table(title="Image-text model, pictures never trained on (share right)")
    for column in ("task", "names", "pictures", "top", "chance", *(folder.name for folder in options.models), "aim"):
        table.add_column(column, justify="left" if column == "task" else "right")
    scores = [[_ranks(Towers.load(folder, OnnxSettings()), task) for task in tasks] for folder in options.models]
    for place, task in enumerate(tasks):
        for top in task.top:
            shares = [f"{(ranks[place] < top).mean():.3f}" for ranks in scores]
            counts = (str(len(task.prompts)), str(len(task.pictures)), str(top), f"{top / len(task.prompts):.3f}")
            table.add_row(task.what, *counts, *shares, task.aim.split("/")[task.top.index(top)])
    console = Console()
    console.print(table)
    console.print(_confusions(tasks[-1], Towers.load(options.models[0], OnnxSettings())))
    console.print(_alarms(options.models[0], tasks[1]))
    console.print(_timings(options.models[0], tasks[0].pictures))


def _emoji_tasks(cache: Path) -> list[Task]:
    names = EmojiNames.load(fetch(NAMES, cache / "npm") / "en")
    style = render_role(Role.TEST, (), cache, Progress())
    plain = {one.name for one in names.every if not one.has_skin_tone and not one.is_flag}
    drawn = {subject.name: row for row, subject in reversed(list(enumerate(style.subjects))) if subject.name in plain}
    composed = held_out(names, [subject.name for subject in style.subjects])
    known = sorted(set(drawn) - set(composed))
    some = sorted(random.Random(_SEED).sample(known, _NAMES))
    return [
        _zero_shot("emoji in an unseen style", some, style, drawn, (1, 5), "0.60/0.85"),
        _zero_shot("the same, every name", known, style, drawn, (1, 5), "/"),
        _zero_shot("names never in a caption", composed, style, drawn, (1, 5), "/0.40"),
        _pairs(some, style, drawn),
    ]


def _zero_shot(
    what: str, names: Sequence[str], style: Sheet, drawn: dict[str, int], top: tuple[int, ...], aim: str
) -> Task:
    pictures = [on_white(style.pixels[drawn[name]]) for name in names]
    return Task(
        what, pictures, tuple((name, f"a picture of {name}") for name in names), np.arange(len(names)), top, aim
    )


def _pairs(names: Sequence[str], style: Sheet, drawn: dict[str, int]) -> Task:
    """Two drawings side by side; every one of ten names with every one of ten others."""
    chosen = random.Random(_SEED).sample(list(names), 2 * _GRID)
    both = [(left, right) for left in chosen[:_GRID] for right in chosen[_GRID:]]
    pictures = [np.hstack([on_white(style.pixels[drawn[name]]) for name in pair]) for pair in both]
    square = [np.pad(one, ((48, 48), (0, 0), (0, 0)), constant_values=255) for one in pictures]
    prompts = tuple((f"a {left} and a {right}",) for left, right in both)
    return Task("pairs of them, never together", square, prompts, np.arange(len(both)), (1, 5), "/")


def _document_task() -> Task:
    sets = parse_label_sets((SHIPPED / "labels.json").read_text("utf-8"))
    kinds = sorted(folder.name.replace("_", " ") for folder in DOCUMENTS.iterdir() if any(folder.glob("*.[pw]*")))
    pictures, answers = [], []
    for place, kind in enumerate(kinds):
        for path in sorted((DOCUMENTS / kind.replace(" ", "_")).glob("*.[pw]*")):
            pictures.append(np.asarray(Image.open(path).convert("RGB")))
            answers.append(place)
    prompts = tuple(sets["document"].labels[kind] for kind in kinds)
    return Task("document kind, other tools", pictures, prompts, np.array(answers), (1,), "0.90")


def _ranks(model: Towers, task: Task) -> NDArray[np.int64]:
    """How many names were put before the right one, for each picture."""
    cosines = _cosines(model, task)
    right = cosines[np.arange(len(cosines)), task.answers]
    ranks: NDArray[np.int64] = (cosines > right[:, None]).sum(1)
    return ranks


def _cosines(model: Towers, task: Task) -> NDArray[np.float32]:
    labels = LabelSet({prompts[0]: prompts for prompts in task.prompts})
    texts = model.texts([text for prompts in task.prompts for text in prompts])
    images = np.concatenate([model.images([picture]) for picture in task.pictures])
    return LabelRows(labels, texts).cosines(images)


def _confusions(task: Task, model: Towers) -> Table:
    """Right and wrong kinds, the shipped model's."""
    found = _cosines(model, task).argmax(1)
    kinds = [prompts[0].removeprefix("a ") for prompts in task.prompts]
    table = Table(title="Document kinds")
    for column in ("kind", "right", "taken for"):
        table.add_column(column)
    for place, kind in enumerate(kinds):
        mine = found[task.answers == place]
        others = [f"{kinds[other]} {(mine == other).sum()}" for other in np.unique(mine) if other != place]
        table.add_row(kind, f"{(mine == place).sum()}/{len(mine)}", ", ".join(others))
    return table


def _alarms(folder: Path, task: Task) -> Table:
    """What the safety set says of every emoji of the unseen style."""
    sets = {"safety": parse_label_sets((folder / "labels.json").read_text("utf-8"))["safety"]}
    model, safety = ClipModel(Towers.load(folder, OnnxSettings()), sets), sets["safety"]
    found = [model.labels(picture)[0].name for picture in task.pictures]
    wanted = [safety_answer(prompts[0]) for prompts in task.prompts]
    table = Table(title="Safety labels, the unseen style")
    for column in ("ought to be", "pictures", "right", "taken for safe", "taken for another alarm"):
        table.add_column(column, justify="left" if column == "ought to be" else "right")
    for label in safety.labels:
        mine = [said for said, want in zip(found, wanted, strict=True) if want == label]
        right, safe = mine.count(label), mine.count("safe")
        others = len(mine) - right - (0 if label == "safe" else safe)
        table.add_row(label, str(len(mine)), str(right), "" if label == "safe" else str(safe), str(others))
    return table


def _timings(folder: Path, pictures: Pictures) -> Table:
    model = Towers.load(folder, OnnxSettings())
    table = Table(title="Milliseconds per picture, decoded pixels to embedding")
    for column in ("batch", "median", "aim"):
        table.add_column(column, justify="right")
    for batch, aim in ((1, "10"), (16, "")):
        some = pictures[:batch]
        took = []
        for _ in range(40):
            start = time.perf_counter()
            model.images(some)
            took.append((time.perf_counter() - start) * 1000 / batch)
        table.add_row(str(batch), f"{statistics.median(took[5:]):.2f}", aim)
    return table


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.image_model", description=__doc__)
    parser.add_argument("--beside", type=Path, action="append", default=[], help="another model's folder")
    parser.add_argument("--cache", type=Path, default=Path("build/image-model"), help="where fetched drawings lie")
    options = parser.parse_args()
    options.models = [SHIPPED, *options.beside]
    return options


if __name__ == "__main__":
    main()
