"""A table as text that fits a token budget. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headworks.intake.finding import Column, TableProfile
from headworks.intake.table.settings import TableSettings

CountTokens = Callable[[str], int]
CELL_SLACK = 4
"""How many times `max_cell_characters` of a cell are looked at, because runs of blanks become one."""


@dataclass(frozen=True, slots=True)
class TableText:
    """What a model reads of a table."""

    profile: str
    """How many rows and columns, then a line for each column that fits."""
    rows: str
    """A header, whole rows, and how many are left out; "" when none fits."""
    shown_rows: int
    shown_columns: int


def write_text(
    profile: TableProfile, rows: Sequence[tuple[str | None, ...]], count: CountTokens, settings: TableSettings
) -> TableText:
    """Write the profile first, then as many rows from the top as still fit.

    Args:
        rows: The first rows of the table, all columns.
        count: Tokens of a text, by the served model.
    """
    budget = settings.max_prompt_tokens
    title = f"{_plural(profile.rows, 'row')}, {_plural(len(profile.columns), 'column')} ({profile.format})"
    lines, used = [title], count(title + "\n")
    columns = [_column_line(column, settings) for column in profile.columns]
    for number, line in enumerate(columns):
        rest = len(columns) - number - 1
        note = f"({_plural(rest, 'more column')})" if rest else ""
        if used + count(line + "\n") + (count(note + "\n") if note else 0) > budget:
            lines.append(f"({_plural(rest + 1, 'more column')})")
            return TableText("\n".join(lines), "", 0, number)
        lines.append(line)
        used += count(line + "\n")
    text = "\n".join(lines)
    shown, body = _rows_text(profile, rows, count, budget - used, settings)
    return TableText(text, body, shown, len(columns))


def _rows_text(
    profile: TableProfile,
    rows: Sequence[tuple[str | None, ...]],
    count: CountTokens,
    budget: int,
    settings: TableSettings,
) -> tuple[int, str]:
    lines = [_row_line([column.name for column in profile.columns], settings)]
    budget -= count(lines[0] + "\n") + count(_left_out(profile.rows))
    for row in rows[: settings.max_sample_rows]:
        line = _row_line(row, settings)
        budget -= count(line + "\n")
        if budget < 0:
            break
        lines.append(line)
    shown = len(lines) - 1
    if not shown:
        return 0, ""
    if shown < profile.rows:
        lines.append(_left_out(profile.rows - shown))
    return shown, "\n".join(lines)


def _left_out(rows: int) -> str:
    return f"({_plural(rows, 'more row')})"


def _column_line(column: Column, settings: TableSettings) -> str:
    parts = [f"{_cell(column.name, settings)}: {column.type[: settings.max_cell_characters]}"]
    if column.minimum is not None and column.maximum is not None:
        parts.append(f"{_cell(column.minimum, settings)} to {_cell(column.maximum, settings)}")
    parts.append(f"about {column.distinct} distinct")
    if column.nulls:
        parts.append(f"{column.nulls} null")
    return ", ".join(parts)


def _row_line(values: Sequence[str | None], settings: TableSettings) -> str:
    return " | ".join("null" if value is None else _cell(value, settings) for value in values)


def _cell(value: str, settings: TableSettings) -> str:
    """One line without column marks, cut to its limit."""
    limit = settings.max_cell_characters
    text = " ".join(value[: CELL_SLACK * limit].split()).replace("|", "\\|")
    return text if len(text) <= limit and len(value) <= CELL_SLACK * limit else text[: limit - 1] + "…"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
