"""The question as JSON. Only this module knows the shape of Rego's `input`."""

import json
from typing import TypedDict

from headworks.policy.question import Question


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


def encode_question(question: Question, max_bytes: int) -> str:
    """Write a question as strict JSON.

    Args:
        question: A NaN in it, or text that is not Unicode, is an error.
        max_bytes: The most bytes that it may take as UTF-8.
    Raises:
        ValueError: it cannot be written as strict JSON.
        QuestionTooLarge: it is longer than `max_bytes`.
    """
    try:
        text = json.dumps(question_input(question), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except TypeError as error:
        raise ValueError("the question holds what JSON has no form for") from error
    size = len(text.encode("utf-8"))
    if size > max_bytes:
        raise QuestionTooLarge(f"the question takes {size} bytes, {max_bytes} are allowed")
    return text
