"""Whether the first row of a CSV names its columns, and by which names they are known."""

from collections.abc import Sequence
from dataclasses import dataclass

from headworks.intake.table.column_types import TEXT, YEAR, family

_FEWEST_COUNTED = 3


@dataclass(frozen=True, slots=True)
class Top:
    """One column's cell in the first row, and what stands below it."""

    text: str
    bit: int
    """The cell's kind."""
    below: int
    """The bits of the rows below."""

    @property
    def differs(self) -> bool:
        """Whether the column below holds numbers, dates or the like, and this is something else."""
        return self.bit != 0 and family(self.below) not in ("", "text", family(self.bit))

    @property
    def is_like_data(self) -> bool:
        """Whether this may as well be a value of the column."""
        return self.bit not in (0, TEXT) and family(self.below) in ("", family(self.bit))


def names_columns(row: Sequence[Top]) -> bool:
    """Whether the first row holds names rather than values.

    It does where a cell differs from a column of numbers, dates or booleans below it, and where none of its cells could
    be a value. Cells that could are names all the same when all of them are years above other numbers, or count up by
    one from 0, or from 1 beside a name in letters (posit-dev/positron#8860).
    """
    if any(top.differs for top in row):
        return True
    values = [top for top in row if top.is_like_data]
    if not values:
        return any(top.bit for top in row)
    return _are_years(values) or _count_up(values, has_text=any(top.bit == TEXT for top in row))


def unique_names(cells: Sequence[str]) -> list[str]:
    """Names without blanks around them, each once whatever its case; an empty one is named by its place."""
    names: list[str] = []
    taken: set[str] = set()
    for cell, place in zip(cells, places(len(cells)), strict=True):
        wanted = name = cell.strip() or place
        number = 0
        while name.lower() in taken:
            number += 1
            name = f"{wanted}_{number}"
        taken.add(name.lower())
        names.append(name)
    return names


def places(columns: int) -> list[str]:
    """DuckDB's names for columns that have none: "column0", or "column00" where there are more than ten."""
    digits = len(str(columns - 1))
    return [f"column{number:0{digits}}" for number in range(columns)]


def _are_years(row: Sequence[Top]) -> bool:
    return (
        all(top.bit == YEAR for top in row)
        and len({top.text.strip() for top in row}) == len(row)
        and any(top.below & ~YEAR for top in row)
    )


def _count_up(row: Sequence[Top], *, has_text: bool) -> bool:
    starts = (0, 1) if has_text else (0,)
    found = [top.text.strip() for top in row]
    return len(row) >= _FEWEST_COUNTED and any(
        found == [str(number) for number in range(start, start + len(row))] for start in starts
    )
