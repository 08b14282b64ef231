"""Receipts by Chromium: `receipts/NN.txt` on paper, the paper bare, on a desk, or in the hand of a camera.

In a text `# ` is the shop's name, `^ ` a line in the middle, `* ` a sum in bold, `---` and `===` rules, `|||` a bar
code; any other line is a thing and its price with ` | ` between them.
"""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from random import Random

TEXTS = Path(__file__).parent / "receipts"

CSS = """main{padding:var(--desk) calc(var(--desk) * 1.4);box-sizing:border-box;display:flex;justify-content:center}
.paper{width:300px;padding:22px 20px;box-sizing:border-box;background:#fff;color:#222}
.row{display:flex;justify-content:space-between;gap:12px;white-space:pre}.mid{text-align:center;min-height:1em;white-space:pre}
.name{text-align:center;font-size:1.5em;font-weight:bold;margin-bottom:4px}.sum{font-weight:bold;font-size:1.25em}
.thin{border-top:1px dashed;margin:7px 0}.thick{border-top:4px double;margin:7px 0}
.code{display:flex;height:46px;margin:12px 26px 4px}.code i{background:currentColor;display:block}"""


@dataclass(frozen=True, slots=True)
class Receipt:
    """One text and how it is shown."""

    number: int
    font: str = "14px Liberation Mono"
    paper: str = ""
    """Further CSS of the strip of paper."""
    ground: str = "#fff"
    """CSS background of what the paper lies on."""
    desk: int = 0
    """Pixels of ground above and below the paper; beside it there are more."""

    def page(self, chance: Random) -> tuple[str, str]:
        """Return `<main>` and its style sheet."""
        text = (TEXTS / f"{self.number:02}.txt").read_text(encoding="utf-8")
        lines = "".join(_line(line, chance) for line in text.splitlines())
        width = 300 + round(2.8 * self.desk)
        css = f"main{{--desk:{self.desk}px;width:{width}px;background:{self.ground}}}"
        css += f".paper{{font:{self.font};{self.paper}}}"
        return f"<main><div class=paper>{lines}</div></main>", CSS + css


def _line(line: str, chance: Random) -> str:
    if line == "|||":
        return f"<div class=code>{_bars(chance)}</div>"
    if line in ("---", "==="):
        return f"<div class={'thin' if line == '---' else 'thick'}></div>"
    kind, text = {"# ": "name", "^ ": "mid", "* ": "row sum"}.get(line[:2], "row"), escape(line)
    if line == "^":
        kind, text = "mid", ""
    elif kind != "row":
        text = text[2:]
    parts = "".join(f"<span>{part}</span>" for part in text.split(" | ")) if kind.startswith("row") else text
    return f'<div class="{kind}">{parts.removesuffix(" |</span>")}</div>'


def _bars(chance: Random) -> str:
    return "".join(f"<i style='flex:{chance.randint(1, 4)};opacity:{number % 2}'></i>" for number in range(61))


SHADOW = "box-shadow:0 6px 22px #0007;"
WOOD = "repeating-linear-gradient(92deg,#8a5a33,#9c6b40 9px,#7d4f2b 21px,#946239 30px)"
OAK = "repeating-linear-gradient(178deg,#d8b98a,#cfae7c 14px,#e0c598 25px)"
TORN = (
    "clip-path:polygon(0 6px,4% 0,8% 6px,12% 0,16% 6px,20% 0,24% 6px,28% 0,32% 6px,36% 0,40% 6px,44% 0,48% 6px,52% 0,"
)
TORN += "56% 6px,60% 0,64% 6px,68% 0,72% 6px,76% 0,80% 6px,84% 0,88% 6px,92% 0,96% 6px,100% 0,100% 100%,0 100%);"

RECEIPTS = (
    Receipt(1),
    Receipt(2, "16px Liberation Serif", SHADOW + "transform:rotate(-4deg)", WOOD, 50),
    Receipt(3, "15px Noto Mono", "background:#fdfdf5", "#3a3f47", 40),
    Receipt(4, "13px DejaVu Sans Mono", "background:#f6f6f2;color:#3c3c4c"),
    Receipt(5, "16px Lato", SHADOW + "transform:rotate(3deg);background:#fffaf0", OAK, 60),
    Receipt(6, "14px Liberation Mono", "color:#5a5a78;background:linear-gradient(#fff,#e9e9ee 40%,#fff)"),
    Receipt(7, "15px Liberation Sans Narrow", SHADOW, "#b9c3cc", 30),
    Receipt(8, "17px Liberation Mono", "background:#fff7c4;" + TORN, "#22252b", 36),
    Receipt(9, "12px Noto Mono", ""),
    Receipt(
        10, "16px Roboto Condensed", SHADOW + "transform:rotate(-8deg)", "linear-gradient(140deg,#596b5a,#8b9c88)", 60
    ),
    Receipt(11, "14px Liberation Mono", "border:1px solid #bbb", "#fff", 16),
    Receipt(12, "15px Liberation Sans"),
    Receipt(
        13,
        "14px Roboto",
        SHADOW + "transform:perspective(700px) rotateX(16deg)",
        "linear-gradient(#cbb79c,#8c7454)",
        44,
    ),
    Receipt(14, "15px Open Sans", "border-radius:12px;box-shadow:0 2px 8px #0002", "#eef0f4", 34),
    Receipt(15, "bold 14px Noto Mono", "background:#dff1ff;" + TORN),
    Receipt(
        16,
        "13px Liberation Mono",
        SHADOW + "transform:rotate(1.5deg);background:linear-gradient(100deg,#fff,#e6e2da)",
        "#6d4c41",
        30,
    ),
)
