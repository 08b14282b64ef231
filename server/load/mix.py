"""Who sends what: tenants with shares, and how long their prompts and answers are. Pure."""

import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate
from typing import Any

MAX_WORDS = 32_768
"""Of a prompt; more than models of today take."""
MAX_TENANTS = 64
"""Each has a connection and figures of its own."""
_WORDS = (
    *("river", "market", "morning", "window", "order", "letter", "garden", "number", "answer", "winter", "paper"),
    *("summer", "table", "bridge", "question", "village", "engine", "harbour", "kitchen", "journey", "mountain"),
)
"""Common words; most tokenizers take one token for each."""


class BadMix(Exception):
    """A tenant or a length that cannot be meant."""


class Shape(Enum):
    """Distributions of a length."""

    FIXED = "fixed"
    UNIFORM = "uniform"
    """Between two lengths, both included."""
    LOGNORMAL = "lognormal"
    """By median and sigma, as the lengths of people's prompts are."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long something is: always the same, or drawn anew each time. Never under 1, never over `MAX_WORDS`."""

    shape: Shape
    first: float
    """The length, the least, or the median."""
    second: float = 0.0
    """The greatest, or sigma."""

    @classmethod
    def parse(cls, text: str) -> "Lengths":
        """Read "64", "uniform:16:256" or "lognormal:64:0.8".

        Raises:
            BadMix: it is none of these.
        """
        name, *numbers = text.split(":") if ":" in text else (Shape.FIXED.value, text)
        try:
            shape, values = Shape(name), [float(number) for number in numbers]
            lengths = cls(shape, *values)
        except (ValueError, TypeError):
            raise BadMix(f"a length is 64, uniform:16:256 or lognormal:64:0.8, not {text!r}") from None
        if len(values) != (1 if shape is Shape.FIXED else 2) or not lengths._is_sane():
            raise BadMix(f"{text!r} is no length between 1 and {MAX_WORDS:,}")
        return lengths

    def draw(self, chance: random.Random) -> int:
        """Return one length."""
        match self.shape:
            case Shape.FIXED:
                return int(self.first)
            case Shape.UNIFORM:
                return chance.randint(int(self.first), int(self.second))
            case Shape.LOGNORMAL:
                return max(1, min(MAX_WORDS, round(self.first * chance.lognormvariate(0.0, self.second))))

    def __str__(self) -> str:
        if self.shape is Shape.FIXED:
            return f"{self.first:g}"
        return f"{self.shape.value}:{self.first:g}:{self.second:g}"

    def _is_sane(self) -> bool:
        if not 1 <= self.first <= MAX_WORDS:
            return False
        if self.shape is Shape.UNIFORM:
            return self.first <= self.second <= MAX_WORDS
        return self.shape is Shape.FIXED or 0 <= self.second <= 5


@dataclass(frozen=True, slots=True)
class Tenant:
    """One caller's key, and what is sent with it."""

    name: str
    share: float = 1.0
    """Of the turns, relative to the other tenants' shares."""
    api_key: str | None = field(default=None, repr=False)
    prompt_words: Lengths = Lengths(Shape.FIXED, 32)
    answer_tokens: Lengths = Lengths(Shape.FIXED, 64)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn to send."""

    tenant: int
    """Which tenant of the mix."""
    prompt: str
    max_output_tokens: int


class Mix:
    """Draws turns: first whose, then how long."""

    def __init__(self, tenants: Sequence[Tenant], seed: int) -> None:
        """Take at least one tenant; the same seed gives the same turns.

        Raises:
            BadMix: none, too many, two of one name, or a share that is not above 0.
        """
        if not 1 <= len(tenants) <= MAX_TENANTS:
            raise BadMix(f"a mix has 1 to {MAX_TENANTS} tenants, not {len(tenants)}")
        if len({tenant.name for tenant in tenants}) < len(tenants):
            raise BadMix("two tenants have the same name")
        if not all(0 < tenant.share < float("inf") for tenant in tenants):
            raise BadMix("a tenant's share must be above 0")
        self.tenants = tuple(tenants)
        self._chance = random.Random(seed)  # noqa: S311  # a load, not a secret
        self._bounds = list(accumulate(tenant.share for tenant in tenants))
        self._book = self._chance.choices(_WORDS, k=2 * MAX_WORDS)
        """Prompts are cut from it at random, so that no two share a beginning that a cache could answer."""

    def draw(self) -> Turn:
        """Return the next turn."""
        (number,) = self._chance.choices(range(len(self.tenants)), cum_weights=self._bounds)
        return self.turn_of(number)

    def turn_of(self, number: int) -> Turn:
        """Return the next turn of one tenant."""
        tenant, chance = self.tenants[number], self._chance
        words = tenant.prompt_words.draw(chance)
        start = chance.randrange(len(self._book) - words)
        return Turn(number, " ".join(self._book[start : start + words]), tenant.answer_tokens.draw(chance))


def read_mix(text: str) -> tuple[Tenant, ...]:
    """Read tenants from TOML: a table `[[tenants]]` for each, with the fields of `Tenant`.

    Raises:
        BadMix: it is no TOML, or holds something else.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadMix(f"it is not TOML: {error}") from error
    tables = document.pop("tenants", None)
    if document or not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadMix("it holds [[tenants]] and nothing else")
    return tuple(_tenant(table, number) for number, table in enumerate(tables, 1))


def _tenant(table: Mapping[str, Any], number: int) -> Tenant:
    kinds: dict[str, tuple[type, ...]] = {
        "name": (str,),
        "share": (int, float),
        "api_key": (str,),
        "prompt_words": (int, str),
        "answer_tokens": (int, str),
    }
    for name, value in table.items():
        if name not in kinds:
            raise BadMix(f"tenant {number} has {name!r}; it takes {', '.join(kinds)}")
        if not isinstance(value, kinds[name]) or isinstance(value, bool):
            raise BadMix(f"{name} of tenant {number} is of the wrong kind")
    fields: dict[str, Any] = {"name": f"tenant {number}", **table}
    for name in ("prompt_words", "answer_tokens"):
        if name in fields:
            fields[name] = Lengths.parse(str(fields[name]))
    return Tenant(**fields)
