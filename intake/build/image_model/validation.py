"""How good a model is on pictures kept for picking the best checkpoint: one unseen style, unseen documents."""

import numpy as np
import open_clip
import torch
import torch.nn.functional as functional
from numpy.typing import NDArray

from headworks.intake.build.image_model.batches import is_validation
from headworks.intake.build.image_model.kinds import KINDS, Documents
from headworks.intake.build.image_model.render import Sheet, on_white
from headworks.intake.build.image_model.scenes import SIDE, letterbox
from headworks.intake.build.image_model.words import Tokens

_BATCH = 128


class Validation:
    """Zero-shot scores of a model while it is trained."""

    def __init__(self, style: Sheet, documents: Documents, tokens: Tokens) -> None:
        """Take the drawings of a style that is not trained on."""
        rng = np.random.default_rng(0)
        drawn = torch.from_numpy(on_white(style.pixels)).permute(0, 3, 1, 2)
        self._emoji = functional.interpolate(drawn.float(), (SIDE, SIDE), mode="bicubic", antialias=True).clamp(0, 255)
        self.emoji_names = [subject.name for subject in style.subjects]
        """Of every emoji, in the order of `embeddings`."""
        rows = [row for row in range(len(documents.items)) if is_validation(row)]
        papers = []
        for row in rows:
            item = documents.items[row]
            papers.append(letterbox(documents.pixels[row, : item.height, : item.width], rng))
        self._papers = torch.stack(papers) * 255
        self.paper_kinds = [documents.items[row].kind for row in rows]
        """Of every document, in the order of `embeddings`."""
        self._names = tokens.of(self.emoji_names)
        self._kinds = tokens.of([f"a picture of a {kind}" for kind in KINDS])

    @torch.no_grad()
    def of(self, model: "open_clip.CLIP") -> tuple[float, float]:
        """Share of the emoji, then of the documents, whose own name is the nearest."""
        emoji, papers = self.embeddings(model)
        names, kinds = (_text(model, tokens) for tokens in (self._names, self._kinds))
        answers = np.array([list(KINDS).index(kind) for kind in self.paper_kinds])
        right = (emoji @ names.T).argmax(1) == np.arange(len(emoji))
        return float(right.mean()), float(((papers @ kinds.T).argmax(1) == answers).mean())

    @torch.no_grad()
    def embeddings(self, model: "open_clip.CLIP") -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Unit vectors of the emoji and of the documents; the model keeps the mode that it is in."""
        was_training = model.training
        model.eval()
        found = _image(model, self._emoji), _image(model, self._papers)
        model.train(was_training)
        return found

    def examples(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Prepared pictures, shape (count, 3, SIDE, SIDE), and tokens of names, for comparing two forms of a model."""
        return _prepared(torch.cat((self._emoji[: count // 2], self._papers[: count - count // 2]))), self._names[
            :count
        ]


def _prepared(pictures: torch.Tensor) -> torch.Tensor:
    return (pictures / 255 - 0.5) / 0.5


def _image(model: "open_clip.CLIP", pictures: torch.Tensor) -> NDArray[np.float32]:
    device = next(model.parameters()).device
    parts = [pictures[start : start + _BATCH] for start in range(0, len(pictures), _BATCH)]
    rows = [model.encode_image(_prepared(some.to(device))).float() for some in parts]
    unit: NDArray[np.float32] = functional.normalize(torch.cat(rows), dim=-1).cpu().numpy()
    return unit


def _text(model: "open_clip.CLIP", tokens: torch.Tensor) -> NDArray[np.float32]:
    device = next(model.parameters()).device
    unit: NDArray[np.float32] = functional.normalize(model.encode_text(tokens.to(device)).float(), dim=-1).cpu().numpy()
    return unit
