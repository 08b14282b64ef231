"""Which type a CSV column gets: the one rule for what survives.

A column gets a type only when each of its values is written in a form from which nothing is lost in that type; else it
stays VARCHAR, as it was sent. So `007`, `+49151`, `0x1F`, `yes`, `08:30`, nine digits of a second, a clock that is not
UTC, `03/04/2025` and numbers of more digits than a DOUBLE holds stay as they are. What may change is how a value is
written: blanks around it, zeros at the end of a fraction, `e` for powers of ten, True for true, and dates of which only
one order of day and month fits all values.

Every value has one kind, a bit. The bits of a column's values decide, so their order does not matter, and a sample of
the rows can only be wrong in a way that the next value's bit shows.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_

TEXT = 1 << 30
"""The bit of a value that is none of the others."""
YEAR = 1 << 1
"""The bit of a whole number from 1900 to 2099."""
_YEARS = r"(?:[1-9]\d{3}|0[1-9]\d{2}|00[1-9]\d|000[1-9])"
_DATE = rf"{_YEARS}-\d{{2}}-\d{{2}}"
_CLOCK = r"\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?"
_STAMP = rf"{_DATE}[T ](?:\d{{2}}:\d{{2}}|{_CLOCK})"
_MONTH = "(?:0?[1-9]|1[0-2])"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_BEGINNING = "^ *[-.0-9tTfFnNiI]"
"""How a value of any kind but text begins; most text is told by it alone."""
_AS_SENT = "{c}"
_TRIMMED = r"regexp_replace(trim({c}), '(\.\d*?)0+$', '\1')"
_HOLDS_DIGITS = (
    "CASE WHEN strlen({c}) <= 15 THEN TRUE"
    " WHEN strlen(regexp_replace({c}, '[eE].*|[^0-9]', '', 'g')) <= 15 THEN TRUE"
    f" ELSE CAST(TRY_CAST({{c}} AS DOUBLE) AS VARCHAR) IN ({_TRIMMED}, {_TRIMMED} || '0') END"
)
"""Fifteen significant digits survive in any DOUBLE; more do where DuckDB writes them as they were sent."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """One form of a value."""

    bit: int
    form: str
    """RE2, for the whole value without blanks around it."""
    type: str = ""
    """What it must be cast to for certain, because the form alone lets through too much ("2025-02-30")."""
    condition: str = "TRUE"
    """What else must hold of `{c}`; it holds of every value of the kinds with lower bits."""
    text: str = _AS_SENT
    """The value as DuckDB casts it."""


def _has_form(cell: str, kinds: Iterable[_Kind]) -> str:
    """A condition that is true for cells of one of these kinds, which may still not be castable."""
    found = list(kinds)
    form = "|".join(kind.form for kind in found)
    conditions = " AND ".join(kind.condition.format(c=cell) for kind in found if kind.condition != "TRUE")
    return f"regexp_full_match({cell}, ' *(?:{form}) *')" + (f" AND {conditions}" if conditions else "")


def _parts(order: str, mark: str) -> str:
    """Year, month and day of a date in the ISO form."""
    return rf"regexp_replace({{c}}, '^ *(\d+)\{mark}(\d+)\{mark}(\d+) *$', '{order}')"


_BOOLEAN = _Kind(1, "(?i:true|false)", "BOOLEAN")
_YEAR = _Kind(YEAR, r"(?:19|20)\d{2}")
_INTEGER = _Kind(1 << 2, r"0|-?[1-9]\d{0,14}")
_LONG = _Kind(1 << 3, r"-?[1-9]\d{15,18}", "BIGINT")
_HUGE = _Kind(1 << 4, r"-?[1-9]\d{18,38}", "HUGEINT")
_DOUBLE = _Kind(
    1 << 5,
    r"-?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,2})?|(?i:nan|-?inf)",
    "DOUBLE",
    _HOLDS_DIGITS,
)
_ISO_DATE = _Kind(1 << 6, _DATE, "DATE")
_ISO_STAMP = _Kind(1 << 7, _STAMP, "TIMESTAMP")
_ZONED_STAMP = _Kind(1 << 8, _STAMP + r"(?:Z|[-+]00(?::00)?)", "TIMESTAMPTZ")
_TIME = _Kind(1 << 9, _CLOCK, "TIME")
_DOTTED_DATE = _Kind(1 << 10, rf"{_DAY}\.{_MONTH}\.{_YEARS}", "DATE", text=_parts(r"\3-\2-\1", "."))
_YEAR_FIRST_DATE = _Kind(1 << 11, rf"{_YEARS}/{_MONTH}/{_DAY}", "DATE", text=_parts(r"\1-\2-\3", "/"))


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type and the kinds that it keeps whole."""

    name: str
    """DuckDB's."""
    kinds: tuple[_Kind, ...]
    needs: int = 0
    """Bits of which one must be there; 0 for any."""

    @property
    def bits(self) -> int:
        return sum(kind.bit for kind in self.kinds)

    @property
    def text(self) -> str:
        """The value as DuckDB casts it, which is alike for all kinds of a type."""
        return self.kinds[0].text

    def holds(self, bits: int) -> bool:
        """Whether a column with these bits, and no others, may have this type."""
        return bits != 0 and not bits & ~self.bits and (not self.needs or bool(bits & self.needs))


def _day_and_month(first_bit: int, mark: str) -> tuple[ColumnType, ColumnType]:
    """Dates of one mark: both orders, each of which needs a value that the other cannot be."""
    either = rf"{_MONTH}\{mark}{_MONTH}\{mark}{_YEARS}"
    orders = (
        (rf"{_DAY}\{mark}{_MONTH}\{mark}{_YEARS}", _parts(r"\3-\2-\1", mark)),
        (rf"{_MONTH}\{mark}{_DAY}\{mark}{_YEARS}", _parts(r"\3-\1-\2", mark)),
    )
    day, month = (
        ColumnType(
            "DATE",
            (_Kind(first_bit, either, "DATE", text=text), _Kind(first_bit << place, form, "DATE", text=text)),
            needs=first_bit << place,
        )
        for place, (form, text) in enumerate(orders, 1)
    )
    return day, month


_TYPES = (
    ColumnType("BOOLEAN", (_BOOLEAN,)),
    ColumnType("BIGINT", (_YEAR, _INTEGER, _LONG)),
    ColumnType("HUGEINT", (_YEAR, _INTEGER, _LONG, _HUGE)),
    ColumnType("DOUBLE", (_YEAR, _INTEGER, _DOUBLE)),
    ColumnType("DATE", (_ISO_DATE,)),
    ColumnType("TIMESTAMP", (_ISO_DATE, _ISO_STAMP)),
    ColumnType("TIMESTAMPTZ", (_ZONED_STAMP,)),
    ColumnType("TIME", (_TIME,)),
    ColumnType("DATE", (_DOTTED_DATE,)),
    ColumnType("DATE", (_YEAR_FIRST_DATE,)),
    *_day_and_month(1 << 12, "/"),
    *_day_and_month(1 << 15, "-"),
)
"""In the order in which they are tried."""


def _bits_of(names: tuple[str, ...]) -> int:
    return reduce(or_, (one.bits for one in _TYPES if one.name in names))


_KINDS = {kind.bit: kind for one in _TYPES for kind in one.kinds}
_NUMBERS = ("BIGINT", "HUGEINT", "DOUBLE")
_DATES = ("DATE", "TIMESTAMP", "TIMESTAMPTZ")
_FAMILIES = {
    "number": _bits_of(_NUMBERS),
    "date": _bits_of(_DATES),
    "time": _bits_of(("TIME",)),
    "boolean": _bits_of(("BOOLEAN",)),
}


def kind_of(cell: str) -> str:
    """An expression for the bit of a cell's kind: 0 where it is null."""
    cases = [f"WHEN {cell} IS NULL THEN 0", f"WHEN NOT regexp_matches({cell}, '{_BEGINNING}') THEN {TEXT}"]
    for bit in sorted(_KINDS):
        kind = _KINDS[bit]
        is_certain = f" AND TRY_CAST({kind.text.format(c=cell)} AS {kind.type}) IS NOT NULL" if kind.type else ""
        cases.append(f"WHEN {_has_form(cell, [kind])}{is_certain} THEN {bit}")
    return f"CASE {' '.join(cases)} ELSE {TEXT} END"


def _can_have_type(bits: int) -> bool:
    """Whether a column with these bits has a type other than VARCHAR, or could have one after more values."""
    return any(not bits & ~one.bits for one in _TYPES)


def misfit(cell: str, bits: int) -> str:
    """A condition that is true for cells whose bit the column lacks; it may miss some that DuckDB will not cast.

    Args:
        bits: Of the column's values seen so far, joined with OR.
    Returns:
        "FALSE" for a column that is text whatever comes.
    """
    found = _type_of(bits)
    if found is None and not _can_have_type(bits):
        return "FALSE"
    # Without a type: no value so far, or dates that may be read in two ways.
    kinds = found.kinds if found else [kind for bit, kind in _KINDS.items() if bits & bit]
    return f"NOT ({_has_form(cell, kinds)})" if kinds else f"{cell} IS NOT NULL"


def read_as(bits: int) -> str:
    """The type in which DuckDB reads a column with these bits from the file."""
    found = _type_of(bits)
    return found.name if found and found.text == _AS_SENT else "VARCHAR"


def value_of(cell: str, bits: int) -> str:
    """An expression for a cell that was read so, in the type of its column."""
    found = _type_of(bits)
    if found is None or found.text == _AS_SENT:
        return cell
    return f"CAST({found.text.format(c=cell)} AS {found.name})"


def _type_of(bits: int) -> ColumnType | None:
    return next((one for one in _TYPES if one.holds(bits)), None)


def family(bits: int) -> str:
    """What a column's values have in common: "" for no value, else "number", "date", "time", "boolean" or "text"."""
    if not bits:
        return ""
    return next((name for name, members in _FAMILIES.items() if not bits & ~members), "text")
