"""Street maps by Chromium: towns made up by chance, as SVG, in the dress of several kinds of map."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

NAMES = (
    "Mill Lane",
    "High Street",
    "Station Road",
    "Park Avenue",
    "King Street",
    "Elm Street",
    "Bridge Road",
    "Church Row",
)
PLACES = ("Old Town", "Riverside", "Northgate", "St. Mary's", "Harbour")
CSS = """svg{display:block}svg text{font-family:inherit}.box{position:absolute;background:#fff;border-radius:8px;
box-shadow:0 2px 8px #0005;padding:12px 16px;color:#333}"""
WIDE, HIGH = 900, 680
FAR = -260
"""Where the grid begins, far enough outside to cover the map when it is turned."""


@dataclass(frozen=True, slots=True)
class Dress:
    """The colours and habits of one kind of map."""

    land: str = "#f2efe9"
    water: str = "#aad3df"
    park: str = "#c8facc"
    street: str = "#ffffff"
    casing: str = "#cfcac0"
    main: str = "#f9d77e"
    house: str = "#d9d0c9"
    ink: str = "#444444"
    font: str = "Open Sans"


@dataclass(frozen=True, slots=True)
class StreetMap:
    """One town."""

    dress: Dress
    turn: int = 0
    """Degrees by which the grid is turned."""
    gap: int = 70
    """Pixels from one street to the next."""
    rings: bool = False
    """Ring roads and roads from the middle, in place of a grid."""
    houses: bool = False
    route: str = ""
    """Colour of a route from one pin to another, "" for none."""
    pins: int = 0
    over: str = ""
    """HTML that stands on the map: a search field, a legend, buttons."""

    def page(self, chance: Random) -> tuple[str, str]:
        """Return `<main>` and its style sheet."""
        parts = [*self._ground(chance), *self._roads(chance), *self._words(chance), *self._marks(chance)]
        css = f"main{{width:{WIDE}px;height:{HIGH}px;background:{self.dress.land};font:15px {self.dress.font}}}"
        return f"<main><svg width={WIDE} height={HIGH}>{''.join(parts)}</svg>{self.over}</main>", css + CSS

    def _ground(self, chance: Random) -> Iterator[str]:
        dress = self.dress
        for _ in range(4):
            x, y, r = chance.randint(0, WIDE), chance.randint(0, HIGH), chance.randint(50, 120)
            corners = [
                (x + r * chance.uniform(0.7, 1.4) * math.cos(a), y + r * math.sin(a))
                for a in (0.3, 1.2, 2.4, 3.5, 4.6, 5.6)
            ]
            yield f"<polygon fill='{dress.park}' points='{' '.join(f'{px:.0f},{py:.0f}' for px, py in corners)}'/>"
        if self.houses:
            yield from self._houses(chance)
        bend = [chance.randint(-90, 90) for _ in range(4)]
        line = f"M-20 {300 + bend[0]} C 250 {200 + bend[1]} 500 {520 + bend[2]} {WIDE + 20} {330 + bend[3]}"
        yield f"<path d='{line}' fill='none' stroke='{dress.water}' stroke-width='{chance.randint(32, 56)}'/>"

    def _houses(self, chance: Random) -> Iterator[str]:
        yield f"<g fill='{self.dress.house}' transform='rotate({self.turn} {WIDE / 2} {HIGH / 2})'>"
        for x in range(-300, WIDE + 300, 24):
            for y in range(-300, HIGH + 300, 24):
                if chance.random() < 0.55:
                    yield f"<rect x={x} y={y} width={chance.randint(9, 18)} height={chance.randint(9, 18)} />"
        yield "</g>"

    def _roads(self, chance: Random) -> Iterator[str]:
        lines = list(self._rings() if self.rings else self._grid(chance))
        major = [line for number, line in enumerate(lines) if number % 4 == 1]
        minor = [line for number, line in enumerate(lines) if number % 4 != 1]
        dress, turn = self.dress, f"rotate({self.turn} {WIDE / 2} {HIGH / 2})"
        for group, color, width in ((minor, dress.street, 8), (major, dress.main, 14)):
            paths = f"<path d='{' '.join(group)}'"
            yield f"<g fill=none transform='{turn}'>{paths} stroke='{dress.casing}' stroke-width={width + 3} />"
            yield f"{paths} stroke='{color}' stroke-width={width} /></g>"

    def _grid(self, chance: Random) -> Iterator[str]:
        def sway() -> int:
            return chance.randint(-self.gap // 5, self.gap // 5)

        for x in range(FAR, WIDE - FAR, self.gap):
            yield f"M{x + sway()} {FAR} Q{x + sway()} {HIGH / 2} {x + sway()} {HIGH - FAR}"
        for y in range(FAR, HIGH - FAR, self.gap):
            yield f"M{FAR} {y + sway()} Q{WIDE / 2} {y + 2 * sway()} {WIDE - FAR} {y + sway()}"

    def _rings(self) -> Iterator[str]:
        x, y = WIDE * 0.48, HIGH * 0.52
        for r in range(60, 620, self.gap):
            yield f"M{x - r} {y} a{r} {r * 0.85} 0 1 0 {2 * r} 0 a{r} {r * 0.85} 0 1 0 {-2 * r} 0"
        for number in range(14):
            a = number * math.tau / 14 + 0.1
            across, down = math.cos(a), math.sin(a)
            yield f"M{x + 60 * across:.0f} {y + 50 * down:.0f} L{x + 800 * across:.0f} {y + 800 * down:.0f}"

    def _words(self, chance: Random) -> Iterator[str]:
        halo = f"paint-order=stroke stroke='{self.dress.land}' stroke-width=4 fill='{self.dress.ink}'"
        for number, name in enumerate(chance.sample(NAMES, 6)):
            x, y = 90 + (number % 3) * 270 + chance.randint(0, 60), 110 + (number // 3) * 250 + chance.randint(0, 60)
            angle = self.turn + (90 if number % 2 else 0)
            yield f"<text transform='translate({x} {y}) rotate({angle})' font-size=14 {halo}>{name}</text>"
        for number, name in enumerate(chance.sample(PLACES, 3)):
            x, y = 150 + number * 260, 60 + chance.randint(20, 330)
            yield f"<text x={x} y={y} font-size=23 font-weight=bold {halo}>{name}</text>"

    def _marks(self, chance: Random) -> Iterator[str]:
        if self.route:
            (x, y), *_, end = way = [
                self._crossing(*place) for place in ((-3, 2), (-3, 1), (-1, 1), (-1, -1), (2, -1), (2, -2))
            ]
            line = "M" + " L".join(f"{across} {down}" for across, down in way)
            yield f"<path d='{line}' fill=none stroke='{self.route}' stroke-width=10 stroke-linejoin=round />"
            yield f"<circle cx={x} cy={y} r=12 fill=white stroke='#333' stroke-width=5 />" + _pin(*end, "#e53935", "")
        for number in range(self.pins):
            yield _pin(chance.randint(80, WIDE - 80), chance.randint(90, HIGH - 220), "#d81b60", str(number + 1))

    def _crossing(self, column: int, row: int) -> tuple[int, int]:
        """Where two streets of the turned grid meet, nearly; counted from the middle of the map."""
        first_x, first_y = (FAR - WIDE / 2) % self.gap, (FAR - HIGH / 2) % self.gap
        x, y = first_x + column * self.gap, first_y + row * self.gap
        a = math.radians(self.turn)
        return round(WIDE / 2 + x * math.cos(a) - y * math.sin(a)), round(HIGH / 2 + x * math.sin(a) + y * math.cos(a))


def _pin(x: int, y: int, color: str, text: str) -> str:
    drop = f"<path d='M{x} {y} c-6 -18 -20 -24 -20 -40 a20 20 0 0 1 40 0 c0 16 -14 22 -20 40z' fill='{color}' />"
    inside = f"<text x={x} y={y - 34} font-size=18 fill=white text-anchor=middle>{text}</text>"
    return drop + (inside if text else f"<circle cx={x} cy={y - 40} r=7 fill=white />")


SEARCH = "<div class=box style='top:18px;left:18px;width:320px'>Search this area</div>"
BUTTONS = "<div class=box style='right:16px;bottom:60px;font-size:24px;line-height:1.6'>+<br>\u2212</div>"
LEGEND = (
    "<div class=box style='right:18px;bottom:18px;border-radius:0'><b>Town walk</b><br>1 Museum<br>2 Market hall<br>"
    "3 Old bridge<br>4 Theatre<br>5 Castle</div>"
)
TURN = (
    "<div class=box style='top:18px;left:18px;right:18px;background:#1b5e20;color:#fff;font-size:24px'>"
    "↱ 300 m — King Street</div>"
    "<div class=box style='bottom:18px;left:18px;font-size:20px'><b>12 min</b> · 4.2 km · 17:38</div>"
)
SCALE = (
    "<div style='position:absolute;left:24px;bottom:20px;border:2px solid #333;border-top:0;width:110px;"
    "text-align:center'>200 m</div>"
)

PLAIN = Dress(land="#f5f5f5", water="#9cc0f9", park="#cbe6a3", main="#ffffff", casing="#d5d5d5", font="Roboto")
NIGHT = Dress("#242f3e", "#17263c", "#263c3f", "#38414e", "#212a37", "#746855", "#2b3544", "#d59563", "Roboto")
PAPER = Dress(
    "#f6ecd2", "#b5cfd0", "#cfd9a4", "#fffaf0", "#a8926b", "#e2a76f", "#e0cda5", "#5a4632", "Liberation Serif"
)
GREY = Dress("#ebebeb", "#cad2d3", "#dfe5dc", "#ffffff", "#d8d8d8", "#ffffff", "#dddddd", "#8a8a8a", "Lato")

STREETS = (
    StreetMap(PLAIN, turn=14, gap=74, over=SEARCH + BUTTONS, pins=1),
    StreetMap(Dress(), turn=-22, gap=62, houses=True, over=SCALE),
    StreetMap(NIGHT, turn=8, gap=90, route="#4f9cff", over=TURN),
    StreetMap(PAPER, rings=True, gap=78, pins=5, over=LEGEND),
    StreetMap(GREY, turn=31, gap=56, route="#222222"),
)
