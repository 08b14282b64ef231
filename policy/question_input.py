"""The question as JSON. Only this module knows the shape of Rego's `input`."""

import json
from collections.abc import Callable, Hashable
from operator import attrgetter
from typing import Any, TypedDict

from headworks.policy.question import Question
from headworks.policy.reads import Path, Reads


class QuestionTooLarge(ValueError):
    """The question is over its limit, so something without a bound was let into it."""


class CallerInput(TypedDict):
    """`input.caller`."""

    tenant: str
    subject: str
    authenticated_by: str
    roles: list[str]
    attributes: dict[str, str]


class LabelInput(TypedDict):
    """One of `input.input.labels`."""

    set: str
    name: str
    score: float


class FactsInput(TypedDict):
    """`input.input`."""

    modalities: list[str]
    bytes: dict[str, int]
    tokens: int
    lowest_confidence: float | None
    labels: list[LabelInput]


class TrustInput(TypedDict):
    """`input.trust`."""

    score: float
    factors: dict[str, float]


class QuestionInput(TypedDict):
    """`input`."""

    turn_id: str
    stage: str
    caller: CallerInput
    model: str
    purpose: str
    max_output_tokens: int
    input: FactsInput
    trust: TrustInput


def question_input(question: Question) -> QuestionInput:
    """Shape a question as Rego's `input`."""
    caller, facts, trust = question.caller, question.input, question.trust
    return {
        "turn_id": question.turn_id,
        "stage": question.stage.value,
        "caller": {
            "tenant": caller.tenant,
            "subject": caller.subject,
            "authenticated_by": caller.authenticated_by.value,
            "roles": list(caller.roles),
            "attributes": dict(caller.attributes),
        },
        "model": question.model,
        "purpose": question.purpose,
        "max_output_tokens": question.max_output_tokens,
        "input": {
            "modalities": list(facts.modalities),
            "bytes": dict(facts.bytes_by_modality),
            "tokens": facts.tokens,
            "lowest_confidence": facts.lowest_confidence,
            "labels": [{"set": label.set_name, "name": label.name, "score": label.score} for label in facts.labels],
        },
        "trust": {"score": trust.score, "factors": dict(trust.factors)},
    }


_PARTS: dict[Path, Callable[[Question], Hashable]] = {
    ("turn_id",): attrgetter("turn_id"),
    ("stage",): attrgetter("stage"),
    ("caller", "tenant"): attrgetter("caller.tenant"),
    ("caller", "subject"): attrgetter("caller.subject"),
    ("caller", "authenticated_by"): attrgetter("caller.authenticated_by"),
    ("caller", "roles"): attrgetter("caller.roles"),
    ("caller", "attributes"): lambda question: tuple(sorted(question.caller.attributes.items())),
    ("model",): attrgetter("model"),
    ("purpose",): attrgetter("purpose"),
    ("max_output_tokens",): attrgetter("max_output_tokens"),
    ("input", "modalities"): attrgetter("input.modalities"),
    ("input", "bytes"): attrgetter("input.bytes_by_modality"),
    ("input", "tokens"): attrgetter("input.tokens"),
    ("input", "lowest_confidence"): attrgetter("input.lowest_confidence"),
    ("input", "labels"): attrgetter("input.labels"),
    ("trust", "score"): attrgetter("trust.score"),
    ("trust", "factors"): attrgetter("trust.factors"),
}
"""Every part of `input`, and where a question has it. Two questions that are equal in a part are so in its JSON."""


class ReadParts:
    """The parts of a question that a policy reads."""

    def __init__(self, reads: Reads) -> None:
        self._values = tuple(value for path, value in _PARTS.items() if reads.reads(path))
        self._unread = tuple(path for path in _PARTS if not reads.reads(path))

    def values(self, question: Question) -> Hashable:
        """Return their values, to compare them with another question's."""
        return tuple(value(question) for value in self._values)

    def input(self, question: Question) -> dict[str, Any]:
        """Shape a question as Rego's `input`, without what no rule reads."""
        shaped: dict[str, Any] = {**question_input(question)}
        for *holders, name in self._unread:
            place = shaped
            for holder in holders:
                place = place[holder]
            del place[name]
        return shaped


def encode_question(question: Question, max_bytes: int, parts: ReadParts | None = None) -> str:
    """Write a question as strict JSON.

    Args:
        question: A NaN in it, or text that is not Unicode, is an error.
        max_bytes: The most bytes that it may take as UTF-8.
        parts: Those that are written; all of them when None.
    Raises:
        ValueError: it cannot be written as strict JSON.
        QuestionTooLarge: it is longer than `max_bytes`.
    """
    shaped = question_input(question) if parts is None else parts.input(question)
    try:
        text = json.dumps(shaped, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except TypeError as error:
        raise ValueError("the question holds what JSON has no form for") from error
    size = len(text.encode("utf-8"))
    if size > max_bytes:
        raise QuestionTooLarge(f"the question takes {size} bytes, {max_bytes} are allowed")
    return text
