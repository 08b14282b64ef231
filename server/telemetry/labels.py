"""Keep the number of time series bounded where callers choose a label's values."""

from collections.abc import Mapping
from heapq import nlargest

OTHER = "other"
"""The label of all that have none of their own."""
_MAX_CHARACTERS = 64
"""Of a label's value; names come from callers' tokens."""


class LabelCap:
    """Gives the first names a label of their own for good, so that what is counted under it never falls."""

    def __init__(self, most: int) -> None:
        """Let so many names have their own."""
        self._most = most
        self._shown: dict[str, str] = {}

    def label(self, name: str) -> str:
        """Return the label of a name."""
        label = self._shown.get(name)
        if label is None:
            if len(self._shown) >= self._most:
                return OTHER
            label = self._shown[name] = name[:_MAX_CHARACTERS]
        return label


def largest(values: Mapping[str, float], most: int) -> dict[str, float]:
    """Return the largest values under their names, and the largest of all others under `OTHER`."""
    if not values:
        return {}
    ordered = nlargest(most + 1, values.items(), key=lambda item: item[1])
    return {(name[:_MAX_CHARACTERS] if place < most else OTHER): value for place, (name, value) in enumerate(ordered)}
