"""Tables by Chromium: price lists, accounts, timetables, standings, sheets of cells."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from random import Random

Row = Sequence[str]
PLAIN = "table{border-collapse:collapse}td,th{border:1px solid #000;padding:5px 9px}"


@dataclass(frozen=True, slots=True)
class Table:
    """One table and its dress."""

    rows: Callable[[Random], Iterable[Row]]
    """The first row is the head."""
    css: str
    caption: str = ""
    width: int = 640
    """Pixels, with the margin round the table."""

    def page(self, chance: Random) -> tuple[str, str]:
        """Return `<main>` and its style sheet."""
        head, *body = (tuple(map(escape, row)) for row in self.rows(chance))
        lines = ["<tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr>"]
        lines += ["<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in body]
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        css = (
            f"main{{width:{self.width}px;padding:18px;box-sizing:border-box}}table{{width:100%}}.n{{text-align:right}}"
        )
        return f"<main><table>{caption}{''.join(lines)}</table></main>", css + self.css


def _cell(text: str) -> str:
    is_number = text.strip("€$%\u2212-+., ()0123456789") == "" and text != ""
    return f"<td class=n>{text}</td>" if is_number else f"<td>{text}</td>"


def numbers(chance: Random, corner: str, names: Row, heads: Row, form: str = "{:,.0f}", top: float = 9000) -> list[Row]:
    """A name in front, a number in every other cell."""
    return [(corner, *heads), *((name, *(form.format(chance.uniform(0, top)) for _ in heads)) for name in names)]


def sheet(chance: Random) -> list[Row]:
    """Cells with letters above and numbers before them, as in a spreadsheet."""
    items = ("Paper", "Ink", "Pens", "Folders", "Lamps", "Chairs", "Desks", "Clips", "Tape", "Glue")
    rows: list[Row] = [("", "A", "B", "C", "D", "E"), ("1", "Item", "Stock", "Price", "Sold", "Left")]
    for number, item in enumerate(items, 2):
        stock, sold = chance.randint(40, 400), chance.randint(1, 39)
        rows.append((str(number), item, str(stock), f"{chance.uniform(1, 90):.2f}", str(sold), str(stock - sold)))
    return [*rows, *((str(number), "", "", "", "", "") for number in (12, 13, 14))]


def standings(chance: Random, clubs: Row) -> list[Row]:
    """A league, the best first."""
    won = sorted((chance.randint(2, 28) for _ in clubs), reverse=True)
    rows = []
    for place, (club, wins) in enumerate(zip(clubs, won, strict=True), 1):
        drawn = chance.randint(0, 34 - wins)
        rows.append((str(place), club, "34", str(wins), str(drawn), str(34 - wins - drawn), str(3 * wins + drawn)))
    return [("#", "Club", "P", "W", "D", "L", "Pts"), *rows]


def trains(chance: Random, stops: Row, runs: int) -> list[Row]:
    """A line of stops and the times of each train."""
    rows: list[Row] = [("Station", *(f"R {number}" for number in range(101, 101 + runs)))]
    minutes = 0
    for stop in stops:
        times = [375 + 60 * run + minutes for run in range(runs)]
        rows.append((stop, *(f"{time // 60:02}:{time % 60:02}" for time in times)))
        minutes += chance.randint(4, 13)
    return rows


def people(chance: Random, count: int) -> list[Row]:
    """A staff list."""
    first = ("Ana", "Ben", "Chloé", "Dai", "Eva", "Finn", "Gül", "Hugo", "Ines", "Jan", "Kofi", "Lea", "Mia", "Noor")
    last = ("Adams", "Berg", "Costa", "Dubois", "Evans", "Fischer", "Garcia", "Haddad", "Ito", "Jensen", "Kim", "Lund")
    teams = ("Sales", "Design", "Finance", "Support", "Legal")
    rows: list[Row] = [("Name", "Team", "Room", "Phone", "Since")]
    for number in range(count):
        name = f"{first[number % len(first)]} {chance.choice(last)}"
        place = (f"{chance.choice('ABC')} {chance.randint(100, 420)}", f"ext. {chance.randint(1000, 9999)}")
        rows.append((name, chance.choice(teams), *place, str(chance.randint(2004, 2025))))
    return rows


def marks(chance: Random, features: Row, plans: Row) -> list[Row]:
    """Which plan has which feature."""
    return [("Feature", *plans), *((name, *(chance.choice("✓✓\u2013") for _ in plans)) for name in features)]


def written(_: Random, rows: Sequence[Row]) -> Sequence[Row]:
    """A table whose every word is given."""
    return rows
