"""Train the image-text model that ships, in one command; run again, it goes on where it was stopped.

`python -m headworks.intake.build.image_model` in the environment of requirements/export.txt, with npm on PATH.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import torch

from headworks.intake.build.image_model.batches import Batches, BatchSettings
from headworks.intake.build.image_model.captions import Captions
from headworks.intake.build.image_model.curve import plot
from headworks.intake.build.image_model.kinds import draw_kinds
from headworks.intake.build.image_model.labels import label_sets
from headworks.intake.build.image_model.learn import CONFIG, LearnSettings, Point, learn, make_model
from headworks.intake.build.image_model.names import EmojiNames, held_out
from headworks.intake.build.image_model.progress import Progress
from headworks.intake.build.image_model.release import Released, attribution, release
from headworks.intake.build.image_model.render import Sheet, render_role
from headworks.intake.build.image_model.sets import NAMES, SETS, Role, drawings, fetch
from headworks.intake.build.image_model.validation import Validation
from headworks.intake.build.image_model.words import Tokens, train_tokenizer

_DOCUMENTS_OF_EACH_KIND = 500
_FRAMES = ["a picture of a", "two three four and an icon drawing image symbol clip art emoji"]
"""Words of the captions' frames, so that each becomes a token."""


def main() -> None:
    """Fetch, render, train, release."""
    options = _options()
    folder, progress = options.folder, Progress()
    names = EmojiNames.load(fetch(NAMES, folder / "npm") / "en")
    kept_out = composed_names(names, folder / "npm")
    sheet = render_role(Role.TRAIN, kept_out, folder, progress)
    style = render_role(Role.VALIDATE, (), folder, progress)
    documents = draw_kinds(_DOCUMENTS_OF_EACH_KIND, folder, progress)
    tokenizer = _tokenizer(sheet, folder)
    tokens = Tokens(tokenizer, json.loads(CONFIG.read_text("utf-8"))["text_cfg"]["context_length"])
    validation = Validation(style, documents, tokens)
    settings = LearnSettings(steps=options.steps)
    batches = Batches(sheet, documents, Captions(kept_out), tokens, BatchSettings(), settings.seed)
    run = folder / "run"
    run.mkdir(exist_ok=True)
    curve = learn(batches, validation, settings, run, progress)
    model, labels = make_model(settings.seed), label_sets(names, sheet)
    release(model, validation, tokenizer, labels, folder / "untrained")
    model.load_state_dict(torch.load(run / "best.pt", map_location="cpu", weights_only=True))
    released = release(model, validation, tokenizer, labels, options.into)
    plot(curve, options.into / "curve.png")
    (options.into / "ATTRIBUTION.md").write_text(f"# What the model was trained on\n\n{attribution()}", "utf-8")
    _tell(max(curve, key=lambda point: point.score), released, options.into, progress)


def composed_names(names: EmojiNames, cache: Path) -> tuple[str, ...]:
    """Return the names that training never sees, chosen among those that the test's style draws."""
    (test,) = (icons for icons in SETS if icons.role is Role.TEST)
    return held_out(names, [emoji.name for one in drawings(test, cache) if (emoji := names.of(one))])


def _tokenizer(sheet: Sheet, folder: Path) -> Path:
    path = folder / "tokenizer.json"
    if not path.exists():
        texts = [text for subject in sheet.subjects for text in (subject.name, *subject.words)] + _FRAMES * 200
        vocabulary = json.loads(CONFIG.read_text("utf-8"))["text_cfg"]["vocab_size"]
        train_tokenizer(texts, vocabulary).save(str(path))
    return path


def _tell(best: Point, released: Released, into: Path, progress: Progress) -> None:
    progress.note(
        f"best at step {best.step}: unseen style {best.emoji_top1:.3f}, unseen documents {best.kind_top1:.3f}"
    )
    for name, found in released.exported.items():
        progress.note(f"{name}: cosine to PyTorch at least {found.least_cosine:.6f}")
    for name, found in released.quantized.items():
        progress.note(f"{name}: cosine to before quantization at least {found.least_cosine:.6f}")
    for name, (before, after) in released.calibration.items():
        temperature = released.temperatures[name]
        progress.note(f"{name}: temperature {temperature}, calibration error {before:.3f} before, {after:.3f} after")
    progress.note(f"written to {into}: {json.dumps(asdict(best))}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m headworks.intake.build.image_model", description=__doc__)
    parser.add_argument(
        "--folder", type=Path, default=Path("build/image-model"), help="where drawings and checkpoints lie"
    )
    parser.add_argument("--into", type=Path, default=Path("intake/image/model"), help="where the finished model goes")
    parser.add_argument("--steps", type=int, default=LearnSettings().steps, help="training steps (%(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
