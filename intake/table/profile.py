"""A table's profile: what `SUMMARIZE` says of a column, without the averages that no profile shows.

An average costs time and fails where its sum or a date of the year 9999 does not fit (duckdb/duckdb#9978, #25857).
"""

from collections.abc import Sequence

import duckdb

from headworks.intake.finding import Column, TableProfile
from headworks.intake.table.cells import Cells
from headworks.intake.table.sandbox import quote
from headworks.intake.table.settings import TableSettings

_FIGURES = 4


def summarize(
    cursor: duckdb.DuckDBPyConnection, table_format: str, columns: Sequence[Cells], settings: TableSettings
) -> TableProfile:
    """Count, compare and estimate over all rows of the table `t`."""
    figures = ", ".join(_figures(column, settings) for column in columns)
    rows, *found = cursor.execute(f"SELECT count(*), {figures} FROM t").fetchall()[0]  # noqa: S608 - identifiers quoted
    profiles = []
    for number, column in enumerate(columns):
        nulls, distinct, least, most = found[_FIGURES * number : _FIGURES * (number + 1)]
        profiles.append(Column(column.name, str(column.type), int(nulls), int(distinct), least, most))
    return TableProfile(table_format, int(rows), tuple(profiles))


def _figures(column: Cells, settings: TableSettings) -> str:
    name = quote(column.name)
    least, most = (column.cut(settings.max_profile_characters, f"{function}({name})") for function in ("min", "max"))
    return f"count(*) - count({name}), approx_count_distinct({name}), {least}, {most}"
