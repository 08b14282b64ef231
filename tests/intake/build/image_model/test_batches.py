"""What a training step sees."""

import random
from pathlib import Path

import pytest
import torch

from headworks.intake.build.image_model.batches import Batches, BatchSettings
from headworks.intake.build.image_model.captions import Captions
from headworks.intake.build.image_model.kinds import KINDS
from headworks.intake.build.image_model.render import Subject
from headworks.intake.build.image_model.scenes import SIDE
from headworks.intake.build.image_model.words import Tokens, train_tokenizer
from tests.intake.build.image_model.drawn import documents, sheet

SETTINGS = BatchSettings(pictures=36, document_pictures=12, emoji_share=0.5, tone_share=0.1)


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    texts = ["thing word picture drawing icon of a and two three", *map(str, range(60)), *KINDS]
    train_tokenizer(texts, 600).save(str(path))
    return path


def _batches(tokenizer: Path, seed: int = 1) -> Batches:
    return Batches(sheet(), documents(), Captions(()), Tokens(tokenizer, 24), SETTINGS, seed)


def test_a_batch_depends_on_its_number_and_seed_alone(tokenizer: Path) -> None:
    """Training that was stopped goes on as if it had not been."""
    first, again = _batches(tokenizer), _batches(tokenizer)
    again.batch(0)
    for one, other in zip(first.batch(5), again.batch(5), strict=True):
        assert torch.equal(one, other)
    assert not torch.equal(first.batch(5)[0], first.batch(6)[0])
    assert not torch.equal(first.batch(5)[0], _batches(tokenizer, seed=2).batch(5)[0])


def test_a_batch_is_as_large_as_asked_and_full_of_pictures(tokenizer: Path) -> None:
    pictures, tokens = _batches(tokenizer).batch(1)
    assert pictures.shape == (36, 3, SIDE, SIDE)
    assert pictures.dtype == torch.uint8
    assert tokens.shape == (36, 24)
    assert (pictures.float().flatten(1).std(1) > 0).all()


def test_texts_begin_and_end_with_their_marks(tokenizer: Path) -> None:
    """The text tower reads its answer where the end stands."""
    for ids in Tokens(tokenizer, 8).of(["thing 1", "thing " * 30, "čaj 🫖"]).tolist():
        assert ids[0] == 1
        assert 2 in ids


def test_no_caption_holds_a_name_that_is_kept_out() -> None:
    """Not even when counting or colouring puts the words together."""
    captions = Captions(("red heart", "two cats", "thing 7"))
    dice = random.Random(3)
    heart = Subject("s", "heart", ("love",), True, True, False)
    cat = Subject("s", "cat", (), True, False, False)
    said = [captions.of_one(heart, "red", dice) for _ in range(300)]
    said += [captions.of_scene([cat, heart], [2, 1], dice) for _ in range(50)]
    assert not any("red heart" in one or "two cats" in one for one in said)
    assert any("heart" in one for one in said)


def test_a_scene_counts_what_it_shows() -> None:
    dice = random.Random(0)
    dog, apple = (Subject("s", name, (), True, False, False) for name in ("dog", "apple"))
    assert any("two dogs and an apple" in Captions(()).of_scene([dog, apple], [2, 1], dice) for _ in range(5))
