"""The strict parser that turns a policy engine's answer into a verdict. Every adapter uses it, and it fails shut."""

import json
import re
from collections.abc import Mapping
from typing import Any

from headworks.policy.errors import JudgeUnavailable, NoVerdict
from headworks.policy.facts import MODALITIES
from headworks.policy.verdict import CEILINGS, Obligations, Verdict

LEAST_WEIGHT, MOST_WEIGHT = 0.001, 1000.0
"""Of a tenant's share. A tenant of weight 0 would wait for ever; what may never run is a ceiling of 0."""
MAX_REASONS = 32
"""About three times as many as the default policy has requirements; a longer list is not an answer."""
MAX_CEILING = 2**53 - 1
"""The largest whole number that every JSON reader keeps exact (RFC 8259, section 6); a larger one is odd."""
HIGHEST_CEILING = 2**31 - 1
"""The contract states ceilings in 32 bits. A policy that means "very many" by more is held to this many."""

ZEROS = {name: f"{name.upper()}_IS_ZERO" for name in CEILINGS} | {"modalities": "MODALITIES_IS_EMPTY"}
"""Obligations that no turn can keep when they are zero or empty, and the reason that the refusal then states."""

_REASON = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_ANSWER_KEYS = frozenset({"allow", "reasons", "obligations"})
_OBLIGATION_KEYS = frozenset({*ZEROS, "weight", "per_subject", "cut_answers", "max_bytes"})


class OddAnswer(ValueError):
    """The answer does not have the one shape that counts. The message names the place and never the content."""


def parse_json(text: str | bytes, max_bytes: int) -> object:
    """Parse JSON that may be hostile.

    Raises:
        OddAnswer: it is too long, not JSON or nested too deep, or holds NaN, Infinity or a key twice in one object.
    """
    if len(text) > max_bytes:
        raise OddAnswer(f"the answer is longer than {max_bytes}")
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except OddAnswer:
        raise
    except (ValueError, RecursionError) as error:
        raise OddAnswer(f"the answer is not JSON ({type(error).__name__})") from error


def verdict_from(document: object, *, judge: str, decision_id: str, revision: str) -> Verdict:
    """Turn a policy's document into a verdict.

    The only accepted shape is `{"allow": bool, "reasons": [CODE], "obligations": {...}}` with nothing beside it.
    A refusal states at least one reason; an allow states at least which modalities it is for. A ceiling that is
    null or absent is none, a weight 1, and `per_subject` and `cut_answers` are false. A ceiling of zero, like an empty
    list of modalities, means never: such an allow is a refusal, with the reasons of `ZEROS`. A ceiling over
    `HIGHEST_CEILING` is lowered to it. A refusal carries no obligations.

    Args:
        document: The value of the decision rule, parsed from JSON.
        judge: The adapter's name.
        decision_id: Made by `new_decision_id`.
        revision: The revision of the bundle that decided; "" when it is unknown.
    Raises:
        JudgeUnavailable: the document has any other shape; the reason is `NoVerdict.ODD`.
    """
    try:
        allow, reasons, obligations = _parts(document)
    except OddAnswer as odd:
        raise JudgeUnavailable(NoVerdict.ODD, decision_id) from odd
    return Verdict(
        allow=allow,
        decision_id=decision_id,
        reasons=reasons,
        judge=judge,
        revision=revision,
        obligations=obligations,
    )


def _parts(document: object) -> tuple[bool, tuple[str, ...], Obligations]:
    fields = _fields(document, "answer", _ANSWER_KEYS)
    if fields.keys() != _ANSWER_KEYS:
        raise OddAnswer("answer: a key is missing")
    allow = fields["allow"]
    if not isinstance(allow, bool):
        raise OddAnswer("allow: not a boolean")
    reasons = _reasons(fields["reasons"])
    if not allow and not reasons:
        raise OddAnswer("reasons: a refusal without one")
    obligations = _obligations(fields["obligations"], is_allow=allow)
    if not allow:
        return False, reasons, Obligations()
    if zeros := tuple(reason for name, reason in ZEROS.items() if getattr(obligations, name) in (0, ())):
        return False, zeros, Obligations()
    return True, reasons, obligations


def _reasons(value: object) -> tuple[str, ...]:
    codes = _list(value, "reasons")
    if len(codes) > MAX_REASONS:
        raise OddAnswer(f"reasons: more than {MAX_REASONS}")
    reasons = tuple(code for code in codes if isinstance(code, str) and _REASON.fullmatch(code))
    if len(reasons) != len(codes) or len(set(reasons)) != len(reasons):
        raise OddAnswer("reasons: not distinct codes in UPPER_SNAKE")
    return reasons


def _obligations(value: object, *, is_allow: bool) -> Obligations:
    fields = _fields(value, "obligations", _OBLIGATION_KEYS)
    if is_allow and "modalities" not in fields:
        raise OddAnswer("obligations: an allow must state its modalities")
    return Obligations(
        **{name: _ceiling(fields, name) for name in CEILINGS},
        weight=_weight(fields.get("weight")),
        per_subject=_flag(fields, "per_subject"),
        cut_answers=_flag(fields, "cut_answers"),
        modalities=_modalities(fields.get("modalities", [])),
        max_bytes=_max_bytes(fields.get("max_bytes")),
    )


def _ceiling(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_CEILING:
        raise OddAnswer(f"{name}: not a whole number from 0 to {MAX_CEILING}")
    return min(value, HIGHEST_CEILING)


def _weight(value: object) -> float:
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not LEAST_WEIGHT <= value <= MOST_WEIGHT:
        raise OddAnswer(f"weight: not a number from {LEAST_WEIGHT} to {MOST_WEIGHT}")
    return float(value)


def _flag(fields: Mapping[str, Any], name: str) -> bool:
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        raise OddAnswer(f"{name}: not a boolean")
    return bool(value)


def _modalities(value: object) -> tuple[str, ...]:
    names = _list(value, "modalities")
    known = tuple(name for name in MODALITIES if name in names)
    if len(known) != len(names):
        raise OddAnswer("modalities: not a list of distinct known ones")
    return known


def _max_bytes(value: object) -> tuple[tuple[str, int], ...]:
    """Return the ceilings by modality; a modality of 0 is one of which nothing may come."""
    if value is None:
        return ()
    fields = _fields(value, "max_bytes", frozenset(MODALITIES))
    ceilings = ((name, _ceiling(fields, name)) for name in sorted(fields))
    return tuple((name, ceiling) for name, ceiling in ceilings if ceiling is not None)


def _list(value: object, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise OddAnswer(f"{place}: not a list")
    return value


def _fields(value: object, place: str, known: frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise OddAnswer(f"{place}: not an object")
    if not value.keys() <= known:
        raise OddAnswer(f"{place}: a key that means nothing")
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that stands twice, because readers of JSON differ on which one counts."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise OddAnswer("a key stands twice in one object")
    return fields


def _no_constant(name: str) -> object:
    raise OddAnswer(f"{name} is not JSON")
