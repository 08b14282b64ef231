"""A column's values as text, in SQL: how long it can be, told without writing it, and the text cut to a limit.

Lists, records and binary values grow when they are written out. DuckDB's memory limit does not see that text, and it
checks for an interrupt only once per vector of 2,048 rows. So nothing here casts a value before its length is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from duckdb.sqltypes import DuckDBPyType

from headworks.intake.errors import BadMedia
from headworks.intake.table.sandbox import quote

_WIDTHS = {
    "null": 4,
    "boolean": 5,
    "tinyint": 4,
    "utinyint": 4,
    "smallint": 6,
    "usmallint": 5,
    "integer": 11,
    "uinteger": 10,
    "bigint": 20,
    "ubigint": 20,
    "float": 15,
    "double": 24,
    "date": 13,
    "hugeint": 40,
    "uhugeint": 40,
    "decimal": 41,
    "uuid": 36,
    "time": 15,
    "time_ns": 18,
    "time with time zone": 24,
    "timestamp": 32,
    "timestamp_s": 32,
    "timestamp_ms": 32,
    "timestamp_ns": 32,
    "timestamp with time zone": 40,
    "interval": 80,
}
"""The longest text of a type's values in characters, rounded up (dates reach the year 5,881,580)."""
_NULL = 4
_SEPARATOR = 2
_SLACK = 8
"""How many times a limit the bound of a text may be that is written out and then cut: most texts are far shorter."""
_HEAD_ITEMS = 8
"""Items at the beginning of a long list of texts, lists or records; each may be long."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one column of the table `t`."""

    name: str
    type: DuckDBPyType

    @property
    def can_grow(self) -> bool:
        """Whether the text may be much longer than the value."""
        return self.type.id not in _WIDTHS and self.type.id != "varchar"

    @property
    def size(self) -> str:
        """An expression for the characters of the text: exact, or an upper bound where the text can grow."""
        name = quote(self.name)
        if self.can_grow:
            return _bound(self.type, name)
        return f"coalesce(length({self.text}), {_NULL})"

    @property
    def text(self) -> str:
        """An expression for the whole text, as DuckDB casts it."""
        return quote(self.name) if self.type.id == "varchar" else f"CAST({quote(self.name)} AS VARCHAR)"

    def cut(self, limit: int, value: str | None = None) -> str:
        """An expression for the text with at most `limit` characters; a longer one ends in an ellipsis.

        Where the text can grow and might be much longer, only the first items of a list are written, or nothing.

        Args:
            limit: In characters, from 1.
            value: An expression of the column's type instead of the column itself.
        """
        value = value or quote(self.name)
        if self.type.id == "varchar":
            return _shortened(value, limit)
        whole = f"CAST({value} AS VARCHAR)"
        if not self.can_grow:
            return whole
        is_short = f"{value} IS NULL OR {_bound(self.type, value)} <= {_SLACK * limit}"
        return f"CASE WHEN {is_short} THEN {_shortened(whole, limit)} ELSE {_head(self.type, value, limit)} || '…' END"


def check_readable(part: int, cells: Sequence[Cells]) -> None:
    """Make sure that every column's text has a bound.

    Raises:
        BadMedia: a column has a type whose text cannot be told beforehand (VARIANT).
    """
    for number, one in enumerate(cells, 1):
        try:
            _bound(one.type, quote(one.name))
        except KeyError:
            raise BadMedia(f"table {part}: column {number} is of a type that is not read here") from None


def _bound(kind: DuckDBPyType, value: str, depth: int = 0) -> str:
    """An expression that is at least the length of the value's text, for any value of this type.

    Raises:
        KeyError: the type is not known here.
    """
    match kind.id:
        case "varchar":
            # Quotes within a nested value are escaped.
            return f"coalesce(2 * strlen({value}) + 2, {_NULL})"
        case "blob":
            # A byte is written as \xFF, and its backslash is escaped within a nested value.
            return f"coalesce(8 * octet_length({value}), {_NULL})"
        case "geometry":
            # Eight bytes of a number become at most 26 characters, the nine of an empty shape its name.
            return f"coalesce(4 * octet_length(CAST({value} AS BLOB)) + 32, {_NULL})"
        case "list":
            return _list_bound(_children(kind)["child"], value, depth)
        case "map":
            parts = {
                name: _list_bound(child, f"map_{name}s({value})", depth) for name, child in _children(kind).items()
            }
            return f"({parts['key']} + {parts['value']})"
        case "struct":
            fields = [
                f"{2 * len(name) + 2 + 2 * _SEPARATOR} + {_bound(child, _field(value, name), depth)}"
                for name, child in _children(kind).items()
            ]
            return f"({' + '.join(['2', *fields])})"
    return str(_WIDTHS[kind.id])


def _list_bound(child: DuckDBPyType, value: str, depth: int) -> str:
    if child.id in _WIDTHS:
        return f"coalesce(len({value}) * {_WIDTHS[child.id] + _SEPARATOR} + 2, {_NULL})"
    item = f"x{depth}"
    each = f"lambda {item}: {_SEPARATOR} + {_bound(child, item, depth + 1)}"
    return f"coalesce(list_sum(list_transform({value}, {each})) + 2, {_NULL})"


def _head(kind: DuckDBPyType, value: str, limit: int) -> str:
    """An expression for the beginning of a text that may be too long; empty where no beginning is short for certain."""
    if kind.id != "list":
        return "''"
    width = _WIDTHS.get(_children(kind)["child"].id)
    first = f"{value}[1:{limit // (width + _SEPARATOR) if width else _HEAD_ITEMS}]"
    is_short = f"{_bound(kind, first)} <= {_SLACK * limit}"
    return f"CASE WHEN {is_short} THEN left(rtrim(CAST({first} AS VARCHAR), ']'), {limit - 1}) ELSE '' END"


def _shortened(text: str, limit: int) -> str:
    return f"CASE WHEN length({text}) > {limit} THEN left({text}, {limit - 1}) || '…' ELSE {text} END"


def _children(kind: DuckDBPyType) -> dict[str, DuckDBPyType]:
    return {name: child for name, child in kind.children if isinstance(child, DuckDBPyType)}


def _field(value: str, name: str) -> str:
    return f"struct_extract({value}, '" + name.replace("'", "''") + "')"
