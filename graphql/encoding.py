"""Writes an answer as JSON in steps, so that a large one neither stops the event loop nor grows past its limit."""

import asyncio
import json
from collections.abc import Iterator

STEP_BYTES = 65_536
"""Written between two turns of the event loop; about a millisecond."""


class AnswerTooLarge(Exception):
    """The answer is over its limit."""


async def encode(answer: dict[str, object], max_bytes: int) -> bytes:
    """Return compact JSON in UTF-8; a lone surrogate is written as its escape, which every parser takes.

    Raises:
        AnswerTooLarge: over `max_bytes`; no more than one step of it was made.
    """
    written, rested_at = bytearray(), 0
    for piece in _pieces(answer):
        written += piece.encode("utf-8", "backslashreplace")
        if len(written) > max_bytes:
            raise AnswerTooLarge
        if len(written) - rested_at > STEP_BYTES:
            rested_at = len(written)
            await asyncio.sleep(0)
    return bytes(written)


def _pieces(value: object) -> Iterator[str]:
    """Cut JSON into values that hold no others but plain ones, which are written in one go."""
    if isinstance(value, dict) and any(isinstance(inner, (dict, list)) for inner in value.values()):
        separator = "{"
        for key, inner in value.items():
            yield f"{separator}{_plain(key)}:"
            yield from _pieces(inner)
            separator = ","
        yield "}"
    elif isinstance(value, list) and any(isinstance(inner, (dict, list)) for inner in value):
        separator = "["
        for inner in value:
            yield separator
            yield from _pieces(inner)
            separator = ","
        yield "]"
    else:
        yield _plain(value)


def _plain(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
