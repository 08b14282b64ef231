"""Print docs/limits.md from the settings' own docstrings: `python docs/limits.py > docs/limits.md`."""

import ast
import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from itertools import pairwise

from headworks.server.settings import Settings

HEAD = """# Limits

Every size, queue, count and time has a setting. This page is made from their docstrings (`python docs/limits.py`); a
test compares the two. An error's `ErrorInfo` names the limit that was met, as below, or `obligations.…` where policy
holds the turn to it, or the contract's field ("text.text").

What happens at a limit, unless its line says otherwise:

- **too large** (bytes, pixels, rows, tokens): RESOURCE_EXHAUSTED, TOO_LARGE, with what is allowed and what was seen;
- **too many at once**: RESOURCE_EXHAUSTED, TOO_MANY, with `RetryInfo`; over HTTP 503, or 429 where the
  limit is of one peer or tenant, with `retry-after`;
- **too slow**: DEADLINE_EXCEEDED, TURN_TIMED_OUT;
- a peer that can wait is not read any more (HTTP/2 flow control).

The contract has two of its own: a chunk of text has at most 64 KiB, one of audio, picture or table 1 MiB. Policy has
tokens, bytes and rates in its `data.json` (see [rates](rates.md)); a rate that is used up is TOO_MANY, all else that it
forbids is PERMISSION_DENIED.
"""
IS_LIMIT = re.compile(r"(^|\.)(max_\w+|wait_seconds|\w+_seconds|\w+_milliseconds|attempts|threads|backlog)$")
NOT_LIMITS = re.compile(r"simulated\.|endpoint\.(min|padding)|partial_|padding")
SECTIONS = {
    "flow": "Turns at once",
    "state": "Rates",
    "turn": "One turn",
    "intake": "Input",
    "engine": "Engine",
    "policy": "Policy",
    "rpc": "gRPC",
    "http": "HTTP",
    "graphql": "GraphQL",
    "telemetry": "Telemetry",
    "drain": "The end of the process",
}


def rows(settings: object, prefix: str = "") -> Iterator[tuple[str, object, str]]:
    """Yield (name, default, docstring) of every setting."""
    notes = docstrings(type(settings))
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]  # settings are dataclasses all the way down
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            yield from rows(value, f"{prefix}{field.name}.")
        else:
            yield prefix + field.name, value, notes.get(field.name, "")


def docstrings(section: type) -> dict[str, str]:
    """Return the string that stands below each field of a dataclass."""
    body = ast.parse(inspect.getsource(section)).body[0].body  # type: ignore[attr-defined]  # it is one class
    notes = {}
    for field, note in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(note, ast.Expr) and isinstance(note.value, ast.Constant):
            notes[field.target.id] = " ".join(str(note.value.value).split())  # type: ignore[union-attr]  # a plain name
    return notes


def amount(name: str, value: object) -> str:
    """Write a default with its unit."""
    if value is None:
        return "none"
    if not isinstance(value, int | float):
        return str(value)
    if name.endswith("_bytes"):
        for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
            if value >= size and value % size == 0:
                return f"{value // size} {unit}"
    unit = next((short for end, short in (("_seconds", " s"), ("_milliseconds", " ms")) if name.endswith(end)), "")
    return f"{value:,g}{unit}" if value < 1_000_000 else f"{value:,}{unit}"


def page() -> str:
    """Return the page."""
    limits = [row for row in rows(Settings()) if IS_LIMIT.search(row[0]) and not NOT_LIMITS.search(row[0])]
    parts = [HEAD]
    for section, title in SECTIONS.items():
        table = [row for row in limits if row[0].startswith(section + ".")]
        parts.append(f"\n## {title}\n\n| setting | default | what it bounds |\n| --- | --- | --- |\n")
        parts += [f"| `{name}` | {amount(name, value)} | {note} |\n" for name, value, note in table]
    return "".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page())
