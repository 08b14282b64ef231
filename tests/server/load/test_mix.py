"""Tenants, lengths and the turns that are drawn from them."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.server.load.mix import MAX_WORDS, BadMix, Lengths, Mix, Tenant, read_mix


@pytest.mark.parametrize("text", ["64", "uniform:16:256", "lognormal:64:0.8"])
def test_a_length_is_written_as_it_is_read(text: str) -> None:
    """The report names the load in the words of the command."""
    assert str(Lengths.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    ["", "0", "-1", "many", "nan", "inf", "uniform:9", "uniform:9:3", "uniform:0:3", "lognormal:64", "normal:1:2",
     "fixed", "lognormal:64:-1", "lognormal:64:nan", "fixed:1:2", "99999999"],
)  # fmt: skip
def test_a_length_that_cannot_be_meant_is_refused(text: str) -> None:
    """Before anything is sent."""
    with pytest.raises(BadMix):
        Lengths.parse(text)


@given(
    text=st.sampled_from(["1", "64", "32768", "uniform:1:32768", "lognormal:64:0.8", "lognormal:32768:5"]),
    seed=st.integers(0, 100),
)
def test_lengths_stay_in_their_bounds(text: str, seed: int) -> None:
    """A long tail is cut where no model would take it."""
    chance = random.Random(seed)
    assert all(1 <= Lengths.parse(text).draw(chance) <= MAX_WORDS for _ in range(50))


def test_a_lognormal_length_has_the_stated_median() -> None:
    """That is how the distribution is stated."""
    chance = random.Random(1)
    drawn = sorted(Lengths.parse("lognormal:64:0.8").draw(chance) for _ in range(2001))
    assert drawn[1000] == pytest.approx(64, rel=0.1)


def test_tenants_send_their_shares_with_their_own_lengths() -> None:
    """A light tenant beside a heavy one is the load that fairness is judged on."""
    mix = Mix(
        (
            Tenant("light", 1.0, None, Lengths.parse("8"), Lengths.parse("16")),
            Tenant("heavy", 3.0, "key", Lengths.parse("200"), Lengths.parse("uniform:50:60")),
        ),
        seed=2,
    )
    turns = [mix.draw() for _ in range(2000)]
    assert Counter(turn.tenant for turn in turns)[1] == pytest.approx(1500, rel=0.05)
    assert {(turn.tenant, len(turn.prompt.split())) for turn in turns} == {(0, 8), (1, 200)}
    assert {turn.max_output_tokens for turn in turns if turn.tenant} == set(range(50, 61))
    assert len({turn.prompt for turn in turns}) > 1900, "a cache of prompts must not answer for the model"


def test_the_same_seed_gives_the_same_turns() -> None:
    """A run can be repeated."""
    one, other = (Mix((Tenant("all"),), seed=7) for _ in range(2))
    assert [one.draw() for _ in range(20)] == [other.draw() for _ in range(20)]


def test_a_mix_is_read_from_a_file() -> None:
    """What is left out has its default."""
    light, heavy = read_mix(
        '[[tenants]]\nname = "light"\napi_key = "secret"\n[[tenants]]\nshare = 3\nprompt_words = "uniform:1:5"\n'
        "answer_tokens = 7\n"
    )
    assert (light.name, light.share, light.api_key) == ("light", 1.0, "secret")
    assert (heavy.name, heavy.share, str(heavy.prompt_words), str(heavy.answer_tokens)) == (
        *("tenant 2", 3, "uniform:1:5", "7"),
    )
    assert "secret" not in repr(light)


@pytest.mark.parametrize(
    "text",
    ["", "tenants = 3", "[[tenants]]\nspeed = 1", "[[tenants]]\nshare = '2'", "[[tenants]]\nprompt_words = 0", "[",
     "[[tenants]]\n[other]", "[[tenants]]\nshare = true", "tenants = [1]"],
)  # fmt: skip
def test_a_mix_that_cannot_be_meant_is_refused(text: str) -> None:
    """An option that is misspelt must not be a default that nobody sees."""
    with pytest.raises(BadMix):
        read_mix(text)


@pytest.mark.parametrize("tenants", [(), (Tenant("a"), Tenant("a")), (Tenant("a", 0.0),), (Tenant("a", float("nan")),)])
def test_tenants_that_cannot_be_meant_are_refused(tenants: tuple[Tenant, ...]) -> None:
    """Two of one name would be told as one."""
    with pytest.raises(BadMix):
        Mix(tenants, seed=1)
