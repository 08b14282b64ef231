"""Values as JSON: one object per line, enums as their words, paths as text."""

import dataclasses
import json
import re
import sys
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from headworks.intake.finding import Heard, Read, Seen
from headworks.server.turn.steps import Accepted, Delta, Event, Finished, Found, Judgement, Normalized

_CONTROL = re.compile(r"[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that could steer a terminal, as in `render.printable`, and that JSON does not escape itself."""


def print_json(value: Mapping[str, Any]) -> None:
    """Write one line to standard output and flush it. Characters that could steer a terminal are escaped."""
    text = json.dumps(plain(value), ensure_ascii=False)
    sys.stdout.write(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
    sys.stdout.flush()


def event_fields(event: Event) -> dict[str, Any]:
    """Return an event with its name under "event"."""
    match event:
        case Accepted():
            return {
                "event": "accepted",
                "turn_id": event.turn_id,
                "model": event.model,
                "verdict": verdict_fields(event.judgement),
                "allowances": event.allowances,
            }
        case Found(finding):
            name = {Heard: "heard", Seen: "seen", Read: "read"}.get(type(finding), "noted")
            fields = plain(finding)
            fields.pop("spans")
            return {"event": name, **fields}
        case Delta():
            return {"event": "delta", "text": event.text, "token_ids": event.token_ids}
        case Finished():
            return {
                "event": "finished",
                "reason": event.reason,
                "usage": event.usage,
                "timings_seconds": {**plain(event.timings), "intake": dict(event.timings.intake)},
                "tokens_per_second": tokens_per_second(event),
                "verdict": verdict_fields(event.judgement),
            }


def normalized_fields(normalized: Normalized) -> dict[str, Any]:
    """Return the outcome of a normalisation, with its name under "event"."""
    return {
        "event": "normalized",
        "turn_id": normalized.turn_id,
        "prompt_tokens": normalized.prompt_tokens,
        "spans": normalized.spans,
        "verdict": verdict_fields(normalized.judgement),
    }


def verdict_fields(judgement: Judgement) -> dict[str, Any]:
    """Return a verdict with its trust, but without the judge's name, which the wire does not carry."""
    fields: dict[str, Any] = plain(judgement.verdict)
    fields.pop("judge")
    return {**fields, "trust": {"score": judgement.trust.score, "factors": dict(judgement.trust.factors)}}


def tokens_per_second(finished: Finished) -> float | None:
    """Return the rate from the first token to the last; None when there are fewer than two."""
    seconds, tokens = finished.timings.generation, finished.usage.output_tokens
    return (tokens - 1) / seconds if tokens > 1 and seconds > 0 else None


def plain(value: Any) -> Any:
    """Return a value in the types that JSON has."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return str(value) if isinstance(value, Path) else value
