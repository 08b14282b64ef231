"""Typed filters over a table's rows, turned into a condition whose values are bound."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from headworks.intake.errors import BadMedia
from headworks.intake.finding import Column, TableProfile

_DECIMAL = re.compile(r"DECIMAL\(\d+,(\d+)\)")
_INTEGERS = frozenset(
    sign + size for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
)
_MOST_DIGITS = 18
"""After the point in a comparison: the 20 digits of a BIGINT stand before it in a DECIMAL of 38."""
_SCALAR = re.compile(r"[A-Z][A-Z0-9_ ]*(\(\d+(,\d+)?\))?")


class Operator(StrEnum):
    """How a column is compared with a value."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    CONTAINS = "contains"
    """Case-sensitive, on the value as text."""
    IS_NULL = "is null"
    """Takes no value."""


@dataclass(frozen=True, slots=True)
class Filter:
    """One condition; rows whose column is null pass only IS_NULL."""

    column: str
    operator: Operator
    value: str | None = None
    """As text ("2025-03", "12.5"); it is read as the column's type, and never rounded."""


class BadFilter(BadMedia):
    """A filter names no column, lacks its value, or its value does not fit the column's type."""


def where(profile: TableProfile, filters: Sequence[Filter]) -> tuple[str, dict[str, str]]:
    """A condition for DuckDB and the values to bind; `TRUE` for no filters.

    Raises:
        BadFilter: an unknown column, a missing value, or a column that is not a scalar.
    """
    columns = {column.name: column for column in profile.columns}
    conditions, values = ["TRUE"], {}
    for number, one in enumerate(filters):
        if one.column not in columns:
            raise BadFilter("a filter names a column that the table does not have")
        conditions.append(_condition(columns[one.column], one, f"value{number}"))
        if one.operator is not Operator.IS_NULL and one.value is not None:
            values[f"value{number}"] = one.value
    return " AND ".join(conditions), values


def _condition(column: Column, one: Filter, name: str) -> str:
    identifier = '"' + column.name.replace('"', '""') + '"'
    if one.operator is Operator.IS_NULL:
        return f"{identifier} IS NULL"
    if one.value is None:
        raise BadFilter(f"a filter with the operator {one.operator.name} needs a value")
    if one.operator is Operator.CONTAINS:
        return f"contains(CAST({identifier} AS VARCHAR), ${name})"
    if not _SCALAR.fullmatch(column.type):
        raise BadFilter("a filter compares a column that holds lists or records")
    return f"{identifier} {one.operator.value} CAST(${name} AS {_type_of_value(column.type, one.value)})"


def _type_of_value(column_type: str, value: str) -> str:
    """The column's type, or one that keeps the value whole where the column's would round it ("orders > 1.5")."""
    if column_type == "DATE" and ":" in value:
        return "TIMESTAMP"
    found = _DECIMAL.fullmatch(column_type)
    if found is None and column_type not in _INTEGERS:
        return column_type
    digits = _fraction_digits(value)
    return column_type if digits <= int(found[1] if found else 0) else f"DECIMAL(38,{min(digits, _MOST_DIGITS)})"


def _fraction_digits(value: str) -> int:
    """Digits after the decimal point that count; 0 for what is no number, which DuckDB will refuse."""
    try:
        exponent = Decimal(value).normalize().as_tuple().exponent
    except ArithmeticError:
        return 0
    return max(-exponent, 0) if isinstance(exponent, int) else 0
