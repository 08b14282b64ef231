"""Pages of text by Chromium: letters, papers, books, contracts, notices, plain print."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from random import Random

HERE = Path(__file__).parent


def paragraphs(chance: Random, count: int, file: str = "prose.txt") -> list[str]:
    """Return so many paragraphs, in an order of their own; from the start again when there are too few."""
    written = (HERE / file).read_text(encoding="utf-8").strip().split("\n\n")
    if file == "prose.txt":
        chance.shuffle(written)
    return [escape(written[number % len(written)]) for number in range(count)]


def flowing(chance: Random, count: int, before: str = "", after: str = "", file: str = "prose.txt") -> str:
    """Paragraphs, with something before and after them."""
    return before + "".join(f"<p>{text}</p>" for text in paragraphs(chance, count, file)) + after


def sections(chance: Random, title: str, heads: tuple[str, ...], each: int = 1, numbered: bool = False) -> str:
    """A title, then headings with paragraphs under them."""
    texts = iter(paragraphs(chance, each * len(heads)))
    parts = [f"<h1>{title}</h1>"]
    for number, head in enumerate(heads, 1):
        parts.append(f"<h2>{f'{number}. ' if numbered else ''}{head}</h2>")
        parts += [f"<p>{next(texts)}</p>" for _ in range(each)]
    return "".join(parts)


def clauses(chance: Random, title: str, count: int) -> str:
    """Numbered paragraphs of a contract."""
    items = "".join(f"<li>{text}</li>" for text in paragraphs(chance, count))
    return f"<h1>{title}</h1><ol>{items}</ol>"


def points(chance: Random, title: str, count: int) -> str:
    """A list of single sentences between two paragraphs."""
    opening, closing, *texts = paragraphs(chance, count + 2)
    items = "".join(f"<li>{text.split('. ')[0].rstrip('.')}.</li>" for text in texts)
    return f"<h1>{title}</h1><p>{opening}</p><ul>{items}</ul><p>{closing}</p>"


def entries(chance: Random, words: tuple[str, ...]) -> str:
    """A dictionary: a word in bold, then what it means."""
    texts = paragraphs(chance, len(words))
    return "".join(f"<p><b>{word}</b> <i>n.</i> {text}</p>" for word, text in zip(words, texts, strict=True))


def scene(chance: Random, names: tuple[str, ...], count: int) -> str:
    """A play: names in the middle, what they say under them."""
    lines = ["<p>INT. KITCHEN \u2013 NIGHT</p>"]
    for number, text in enumerate(paragraphs(chance, count)):
        lines.append(
            f"<p class=who>{names[number % len(names)]}</p><p class=says>{'. '.join(text.split('. ')[:2])}</p>"
        )
    return "".join(lines)


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its words, and the paper that they stand on."""

    words: Callable[[Random], str]
    css: str
    size: tuple[int, int] = (640, 905)
    """Pixels; A4 upright where not said otherwise."""
    margin: int = 64

    def page(self, chance: Random) -> tuple[str, str]:
        """Return `<main>` and its style sheet; words that do not fit are left out below the margin."""
        width, height = self.size
        frame = (
            f"main{{width:{width}px;height:{height}px;padding:{self.margin}px;box-sizing:border-box;background:#fff}}"
        )
        inner = ".text{height:100%;overflow:hidden}h1{font-size:1.6em;line-height:1.2}p{margin:0 0 .8em}"
        return f"<main><div class=text>{self.words(chance)}</div></main>", frame + inner + self.css


ADDRESS = "<p style='text-align:right'>Mill House<br>Water Lane<br>12 June 2025</p><p>Dear Mr Ashdown,</p>"
CLOSING = "<p>Yours sincerely,</p><p style='margin-top:2.4em'>E. Whitcombe</p>"
MEMO = "<h1>MEMORANDUM</h1><p><b>To:</b> All staff<br><b>From:</b> Facilities<br><b>Re:</b> Heating</p><hr>"
PAPER = "<h1>On the Calibration of Small Instruments</h1><p class=by>A. Moreau and L. Stein</p><p><b>Abstract.</b> "
NEWS = "<h1>Valley Tunnel Opens After Nine Years</h1><p class=by>From our correspondent</p>"
WORDS = ("gale", "gannet", "garret", "gauze", "gimlet", "glade", "glean", "gourd", "grist", "gully", "gust", "gyre")
FOOT = "<p style='position:absolute;bottom:30px;left:0;right:0;text-align:center'>87</p>"
INTRO = ("Introduction", "Materials", "Method", "Results", "Discussion")
TERMS = ("Scope", "Payment", "Liability", "Term and notice")

PAGES = (
    Page(partial(flowing, count=4, before=ADDRESS, after=CLOSING), "main{font:17px/1.45 Liberation Serif}"),
    Page(
        lambda chance: PAPER + flowing(chance, 14).removeprefix("<p>"),
        "main{font:12.5px/1.35 Liberation Serif}.text{columns:2;column-gap:24px;text-align:justify;column-fill:auto}"
        "h1,.by{column-span:all;text-align:center}h1{font-size:22px;margin:0 0 6px}",
        margin=48,
    ),
    Page(
        partial(flowing, count=5, after=FOOT),
        "main{font:18px/1.5 Liberation Serif;background:#f7f0e0;color:#2b2620}"
        "p{text-indent:1.6em;margin:0;text-align:justify}",
        (560, 860),
        70,
    ),
    Page(
        partial(clauses, title="LEASE AGREEMENT", count=7),
        "main{font:15px/1.4 Liberation Sans}h1{text-align:center}li{margin:8px 0}",
    ),
    Page(
        partial(flowing, count=15, before=NEWS),
        "main{font:13px/1.3 Liberation Serif;background:#efece4}.text{columns:3;column-gap:16px;text-align:justify;"
        "column-fill:auto;column-rule:1px solid #999}h1{column-span:all;font-size:38px;margin:0 0 8px}",
        (760, 900),
        36,
    ),
    Page(partial(flowing, count=9), "main{font:14px/1.3 Liberation Mono}", (700, 900), 50),
    Page(partial(flowing, count=4, before=MEMO), "main{font:16px/1.5 Carlito}"),
    Page(
        partial(flowing, count=4, before="<h1>Essay</h1>"), "main{font:17px/2.1 Liberation Serif}h1{text-align:center}"
    ),
    Page(
        partial(sections, title="Report of the year", heads=INTRO, numbered=True),
        "main{font:15px/1.4 Open Sans}h1,h2{color:#1a4a7a}h2{font-size:1.15em;margin:12px 0 4px}",
    ),
    Page(partial(points, title="Before you travel", count=9), "main{font:17px/1.5 Roboto}li{margin:5px 0}", (760, 760)),
    Page(
        partial(
            flowing,
            count=3,
            file="german.txt",
            before="<p>Hausverwaltung Nord GmbH<br>Postfach 120<br>24103 Kiel</p><br>",
            after="<p>Mit freundlichen Grüßen</p><p>i. A. Petersen</p>",
        ),
        "main{font:16px/1.45 Liberation Sans}",
    ),
    Page(
        partial(entries, words=WORDS),
        "main{font:13px/1.25 Liberation Serif;background:#fbfaf5}.text{columns:2;column-gap:20px;column-fill:auto}"
        "p{margin:0 0 4px;padding-left:12px;text-indent:-12px}",
        (560, 800),
        40,
    ),
    Page(
        partial(scene, names=("ANNA", "THE CLERK"), count=7),
        "main{font:15px/1.35 Liberation Mono}.who{margin:0 0 0 38%}.says{margin:0 16% 1em 18%}",
    ),
    Page(
        partial(sections, title="Terms of service", heads=TERMS, each=2),
        "main{font:13px/1.5 Lato;color:#444}h2{font-size:1.1em;margin:10px 0 2px}",
        (820, 820),
    ),
    Page(
        partial(flowing, count=4),
        "main{font:17px/1.5 DejaVu Serif;background:#dcdad6;color:#333}"
        ".text{transform:rotate(-1.6deg);filter:blur(.4px)}",
        (700, 900),
        80,
    ),
    Page(
        partial(flowing, count=2, before="<h1>Notice to residents</h1>"),
        "main{font:25px/1.4 Liberation Sans}h1{text-align:center;border-bottom:3px solid}",
        (900, 640),
    ),
)
