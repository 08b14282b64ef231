"""Which parts of the question a policy can read, found in its compiled modules.

What a policy cannot read cannot change its verdict. So a question is cut down to the parts that are read, and a verdict
holds for every question that is equal in them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Path = tuple[str, ...]
"""Names below `input`: ("caller", "tenant"). The empty one is all of it."""

VOLATILE = (
    ("time", "now_ns"),
    ("rand",),
    ("uuid",),
    ("http",),
    ("net",),
    ("opa", "runtime"),
    ("io", "jwt", "decode_verify"),
    ("crypto", "x509"),
)
"""Built-ins whose value differs from call to call, or whole families that have such: clocks, chance, the network.

Source: OPA's documentation, "Built-in Functions"; those that it marks as not deterministic, and those that compare with
the time of the day.
"""


@dataclass(frozen=True, slots=True)
class Reads:
    """What all modules of a policy read together."""

    paths: frozenset[Path]
    is_repeatable: bool
    """The same parts always give the same verdict: no rule reads a clock, chance or the network."""

    def reads(self, part: Path) -> bool:
        """Return whether a rule can read this part of `input`, something in it, or something that holds it."""
        return any(part[: len(path)] == path[: len(part)] for path in self.paths)


def reads_of(syntax_trees: str) -> Reads:
    """Find what a policy reads.

    Every reference in every module counts, whether the rule that answers needs it or not. A reference whose names are
    not all written down, as in `input[x]`, counts as all that it may name.

    Args:
        syntax_trees: The modules as regorus gives them, as JSON. Where they are nested too deep for Python, everything
            counts as read, and nothing as repeatable.
    """
    try:
        references = list(_references(json.loads(syntax_trees)))
    except RecursionError:
        return Reads(frozenset({()}), is_repeatable=False)
    inputs = frozenset(reference[1:] for reference in references if reference[0] == "input")
    is_volatile = any(reference[: len(name)] == name for reference in references for name in VOLATILE)
    return Reads(inputs, not is_volatile)


def _references(node: Any) -> Iterator[Path]:
    """Yield the written names at the head of each reference below a node: `a.b["c"][x].d` is ("a", "b", "c")."""
    if isinstance(node, list):
        for each in node:
            yield from _references(each)
    elif isinstance(node, dict):
        if "with_mods" in node:
            node = {**node, "with_mods": [_replacement(each) for each in node["with_mods"]]}
        reference = _reference(node)
        if reference is not None:
            names, indices = reference
            yield names
            yield from _references(indices)
        else:
            yield from _references(list(node.values()))


def _reference(node: Any) -> tuple[Path, list[Any]] | None:
    """Return the names that a reference begins with, and the expressions inside its brackets; None for another node."""
    match node:
        case {"Var": {"value": str(name)}}:
            return (name,), []
        case {"RefDot": {"refr": holder, "field": [_, str(name)]}}:
            return _named(holder, name)
        case {"RefBrack": {"refr": holder, "index": {"String": {"value": str(name)}}}}:
            return _named(holder, name)
        case {"RefBrack": {"refr": holder, "index": index}} if (found := _reference(holder)) is not None:
            names, indices = found
            return names, [*indices, index]
    return None


def _named(holder: Any, name: str) -> tuple[Path, list[Any]] | None:
    """Return the reference to a name in a holder. Behind an expression in brackets no name counts."""
    if (found := _reference(holder)) is None:
        return None
    names, indices = found
    return (names if indices else (*names, name)), indices


def _replacement(modifier: Any) -> Any:
    """Return what `with TARGET as VALUE` reads: `with input as` puts another input in its place, and reads none."""
    match modifier:
        case {"refr": {"Var": {"value": "input"}}, "as": value}:
            return value
    return modifier
