"""What drawings are called, and which names training must not know."""

from pathlib import Path

import pytest

from headworks.intake.build.image_model.names import Emoji, EmojiNames, held_out, holds_any, icon_name, keywords_of
from headworks.intake.build.image_model.sets import ALLOWED, SETS, Drawing, IconSet, Role, drawings


def _emoji(name: str, code: int) -> Emoji:
    return Emoji(name, ("red heart", "love"), f"{code:X}", 8, False, False)


def _names(*every: str) -> EmojiNames:
    emoji = [_emoji(name, 0x1F600 + place) for place, name in enumerate(every)]
    return EmojiNames(emoji, {one.name.replace(" ", ""): one.hexcode for one in emoji})


COLOURED = _names(
    *(f"{colour} {thing}" for colour in ("red", "blue", "green", "black") for thing in ("book", "heart", "cat"))
)


def test_a_name_is_held_out_only_if_two_others_keep_each_of_its_words() -> None:
    """Else its parts could not be learned."""
    every = {one.name for one in COLOURED.every}
    chosen = held_out(COLOURED, every)
    left = every - set(chosen)
    assert chosen
    for name in chosen:
        assert all(sum(word in other.split() for other in left) >= 2 for word in name.split())


def test_the_same_names_are_held_out_every_time() -> None:
    """The test names of a committed model must not move."""
    every = [one.name for one in COLOURED.every]
    assert held_out(COLOURED, every) == held_out(COLOURED, reversed(every))


def test_a_name_within_another_is_not_held_out() -> None:
    """The longer name's captions would hold it."""
    names = _names("red book", "red book shelf", "red cat", "red dog", "blue book", "green book")
    assert "red book" not in held_out(names, [one.name for one in names.every])


@pytest.mark.parametrize(
    ("text", "is_held"), [("a red heart", True), ("red hearts", False), ("infrared heart", False), ("red heart", True)]
)
def test_phrases_are_found_as_whole_words(text: str, is_held: bool) -> None:
    assert holds_any(text, ("red heart",)) is is_held


def test_a_keyword_that_gives_a_name_away_is_dropped() -> None:
    assert list(keywords_of(_emoji("heart suit", 1), ("red heart",))) == ["love"]


@pytest.mark.parametrize(
    ("file", "name"),
    [("account-arrow-left-outline", "account arrow left"), ("add_circle_16", "add circle"), ("outline", "outline")],
)
def test_icon_names_are_words_without_the_drawing_style(file: str, name: str) -> None:
    assert icon_name(file) == name


def test_a_drawing_is_known_by_code_points_or_spelling() -> None:
    """Sets spell Unicode's names in their own ways."""
    by_code = Drawing("any", "whatever", "", False, COLOURED.every[0].hexcode)
    by_name = Drawing("any", "Blue_Heart", "", False)
    unknown = Drawing("any", "purple-heart", "", False)
    assert COLOURED.of(by_code) == COLOURED.every[0]
    found = COLOURED.of(by_name)
    assert found is not None
    assert found.name == "blue heart"
    assert COLOURED.of(unknown) is None


def test_only_permissive_sets_are_trained_on() -> None:
    """Share-alike drawings may test; nothing of theirs is shipped."""
    assert all(one.licence in ALLOWED for one in SETS if one.role is Role.TRAIN)
    assert all("SA" not in licence for licence in ALLOWED)


@pytest.mark.parametrize("stated", ["CC-BY-SA-4.0", "MIT"])
def test_a_set_under_another_licence_is_refused(tmp_path: Path, stated: str) -> None:
    """A package may change its licence between versions."""
    icons = IconSet("birds", "1.0", "Apache-2.0", "somebody", "somewhere")
    folder = tmp_path / "iconify-json-birds@1.0"
    folder.mkdir()
    (folder / "info.json").write_text(f'{{"license": {{"spdx": "{stated}"}}}}')
    with pytest.raises(ValueError, match=stated):
        list(drawings(icons, tmp_path))
