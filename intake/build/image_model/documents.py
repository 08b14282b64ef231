"""Tables, receipts, pages of text and screenshots, drawn with Pillow."""

import random
from collections.abc import Sequence
from pathlib import Path

from headworks.intake.build.image_model.charts import COUNTS, Drawn
from headworks.intake.build.image_model.paper import Paper, blend

_WHITE = (255, 255, 255)


def table(dice: random.Random, fonts: Sequence[Path]) -> Drawn:
    """Rows and columns with a heading: ruled, striped or bare."""
    rows, columns = dice.randint(3, 16), dice.randint(2, 8)
    width = 192
    dark = dice.random() < 0.12
    ground, ink = ("#1e1e1e", "#dddddd") if dark else (dice.choice(("#ffffff", "#ffffff", "#f7f7f7")), "#222222")
    paper = Paper(dice, fonts, width, round(min(192, max(70, rows * dice.uniform(9, 16)))), ground)
    margin = dice.choice((0, 4, 16, 30))
    top = margin + (28 if dice.random() < 0.3 else 0)
    tall = (paper.height - top - margin) / (rows + 1)
    shares = [dice.uniform(0.6, 1.6) for _ in range(columns)]
    edges = [margin + (paper.width - 2 * margin) * sum(shares[:index]) / sum(shares) for index in range(columns + 1)]
    if top > margin:
        paper.text((margin, margin), paper.words(3), 18, ink)
    rules, stripes = dice.choice(("all", "rows", "none", "heading")), dice.random() < 0.4
    numeric = [index > 0 and dice.random() < 0.6 for index in range(columns)]
    accent, on_accent = dice.choice(((paper.palette[0], "#ffffff"), ("#dddddd", "#222222"), (None, ink)))
    line = "#666666" if dark else dice.choice(("#000000", "#999999", "#cccccc"))
    size = min(tall * 0.62, 17)
    for row in range(rows + 1):
        y = top + row * tall
        if row == 0 and accent:
            paper.draw.rectangle((margin, y, paper.width - margin, y + tall), fill=accent)
        elif stripes and row % 2:
            paper.draw.rectangle((margin, y, paper.width - margin, y + tall), fill="#2a2a2a" if dark else "#eef2f6")
        for column in range(columns):
            right = row > 0 and numeric[column]
            at = (edges[column + 1] - 5 if right else edges[column] + 5, y + tall / 2)
            words = paper.number() if right else paper.words(1 if columns > 4 else dice.randint(1, 2))
            words = words[: max(3, int((edges[column + 1] - edges[column]) / (size * 0.55)))]
            paper.text(at, words, size, on_accent if row == 0 else ink, "rm" if right else "lm")
        if rules in ("all", "rows") or (rules == "heading" and row == 1):
            paper.draw.line((margin, y, paper.width - margin, y), fill=line, width=2)
    if rules == "all":
        for edge in edges:
            paper.draw.line((edge, top, edge, paper.height - margin), fill=line, width=2)
        paper.draw.rectangle((margin, top, paper.width - margin, paper.height - margin), outline=line, width=2)
    said = f"table with {COUNTS[columns]} columns"
    return paper.finish(), ("table", said, "table of numbers", "spreadsheet", "rows and columns of data")


def receipt(dice: random.Random, fonts: Sequence[Path]) -> Drawn:
    """A narrow slip: shop, lines with prices at the right, a total, perhaps a bar code; some lie on a desk."""
    height = dice.randint(150, 192)
    slip = Paper(
        dice, fonts, round(height * dice.uniform(0.36, 0.7)), height, dice.choice(("#ffffff", "#fdfdf8", "#f4f1e8"))
    )
    ink, size = dice.choice(("#111111", "#333333", "#444455")), slip.width / dice.uniform(13, 20)
    middle, y, margin = slip.width / 2, size, slip.width * 0.07
    slip.text((middle, y), slip.words(dice.randint(1, 2)).upper(), size * dice.uniform(1.2, 1.9), ink, "ma")
    y += size * 2
    for _ in range(dice.randint(1, 3)):
        slip.text((middle, y), slip.words(2), size * 0.8, ink, "ma")
        y += size
    y = _dashes(slip, y, margin, ink)
    while y < slip.height - size * 7:
        slip.text((margin, y), slip.words(dice.randint(1, 2))[:14], size, ink)
        slip.text((slip.width - margin, y), f"{dice.uniform(0.5, 90):.2f}", size, ink, "ra")
        y += size * dice.uniform(1.2, 1.35)
    y = _dashes(slip, y, margin, ink)
    slip.text((margin, y), "TOTAL", size * 1.3, ink)
    slip.text((slip.width - margin, y), f"{dice.uniform(10, 300):.2f}", size * 1.3, ink, "ra")
    y += size * 2
    if dice.random() < 0.5:
        x = margin * 2
        while x < slip.width - margin * 2:
            bar = dice.choice((2, 3, 5))
            slip.draw.rectangle((x, y, x + bar, slip.height - size), fill=ink)
            x += bar + dice.choice((2, 3, 4))
    else:
        slip.text((middle, y), "thank you", size, ink, "ma")
    captions = ("receipt", "shop receipt", "till receipt with prices", "bill with a total", "invoice slip")
    if dice.random() < 0.45:
        return slip.finish(), captions
    desk = Paper(
        dice, fonts, height, height, dice.choice(("#6b4f3a", "#888888", "#2f3640", "#c8b79a", "#e4e4e4", "#ffffff"))
    )
    turned = slip.image.convert("RGBA").rotate(dice.uniform(-14, 14), expand=True)
    turned.thumbnail((int(desk.width * 0.94), int(desk.height * 0.94)))
    desk.image.paste(turned, ((desk.width - turned.width) // 2, (desk.height - turned.height) // 2), turned)
    return desk.finish(), captions


def page_of_text(dice: random.Random, fonts: Sequence[Path]) -> Drawn:
    """Headings and paragraphs in one or two columns; letters, articles, lists."""
    height = 192
    paper = Paper(dice, fonts, round(height * dice.choice((0.71, 0.77, 0.77, 1.0, 1.3))), height, "#ffffff")
    if dice.random() < 0.25:
        paper.draw.rectangle((0, 0, paper.width, paper.height), fill=dice.choice(("#fbf5e6", "#f3f3f3", "#f8f4ea")))
    ink, size = dice.choice(("#000000", "#222222", "#333333")), dice.uniform(7, 14)
    margin, columns = paper.width * dice.uniform(0.06, 0.14), dice.choice((1, 1, 1, 2))
    y = margin
    if dice.random() < 0.75:
        centred = dice.random() < 0.4
        at = (paper.width / 2 if centred else margin, y)
        paper.text(at, paper.words(dice.randint(2, 4)), size * dice.uniform(1.4, 2.4), ink, "ma" if centred else "la")
        y += size * 3
    wide = (paper.width - 2 * margin - (columns - 1) * 16) / columns
    lists = dice.random() < 0.15
    for column in range(columns):
        _paragraphs(paper, margin + column * (wide + 16), y, wide, paper.height - margin, size, ink, lists)
    captions = (
        "page of text",
        "document",
        "scanned page of text",
        "article with paragraphs",
        "letter",
        "text document",
    )
    return paper.finish(), captions


def screenshot(dice: random.Random, fonts: Sequence[Path]) -> Drawn:
    """A program's window, a web page, a chat, a form or a phone's screen."""
    dark = dice.random() < 0.4
    ground, panel, ink = ("#1e1e1e", "#2d2d30", "#cccccc") if dark else ("#ffffff", "#f0f2f5", "#333333")
    if dark and dice.random() < 0.5:
        ground, panel = "#0d1117", "#161b22"
    kind = dice.choice(("window", "web", "chat", "form", "phone", "editor"))
    size = (108, 192) if kind == "phone" else (192, dice.choice((108, 120, 144)))
    paper = Paper(dice, fonts, *size, ground)
    bar = paper.height * dice.uniform(0.06, 0.11)
    accent = dice.choice((*paper.palette[:2], panel, panel))
    paper.draw.rectangle((0, 0, paper.width, bar), fill=accent)
    if kind in ("window", "editor", "web", "form") and dice.random() < 0.7:
        _window_buttons(paper, bar)
    paper.text((paper.width * 0.3, bar / 2), paper.words(2), bar * 0.5, ink if accent == panel else "#ffffff", "lm")
    draw = {"window": _window, "web": _web, "chat": _chat, "form": _form, "phone": _phone, "editor": _editor}[kind]
    draw(paper, bar, panel, ink)
    extra = {
        "window": "screenshot of a program window",
        "web": "screenshot of a web page",
        "chat": "screenshot of a chat",
        "form": "screenshot of a settings dialog",
        "phone": "screenshot of a phone app",
        "editor": "screenshot of a code editor",
    }[kind]
    return paper.finish(), ("screenshot", extra, "user interface", "screenshot of an application")


def _dashes(slip: Paper, y: float, margin: float, ink: str) -> float:
    y += 6
    for x in range(int(margin), int(slip.width - margin), 10):
        slip.draw.line((x, y, x + 6, y), fill=ink, width=2)
    return y + 8


def _paragraphs(
    paper: Paper, left: float, top: float, wide: float, bottom: float, size: float, ink: str, lists: bool
) -> None:
    y, leading = top, size * paper.dice.uniform(1.25, 1.7)
    font = paper.font(size)
    while y < bottom - size:
        lines = paper.dice.randint(2, 9)
        if paper.dice.random() < 0.2:
            paper.text((left, y), paper.words(2), size * 1.3, ink)
            y += leading * 1.5
        for line in range(lines):
            if y > bottom - size:
                return
            words = paper.words(14)
            room = wide * (paper.dice.uniform(0.3, 0.9) if line == lines - 1 else 1)
            while font.getlength(words) > room and " " in words:
                words = words.rsplit(" ", 1)[0]
            paper.text((left, y), ("• " if lists else "") + words, size, ink)
            y += leading
        y += leading * paper.dice.uniform(0.4, 0.9)


def _window_buttons(paper: Paper, bar: float) -> None:
    radius, mac = bar * 0.2, paper.dice.random() < 0.5
    for index, colour in enumerate(("#ff5f57", "#febc2e", "#28c840") if mac else ("#888888",) * 3):
        x = bar * (0.5 + 0.65 * index) if mac else paper.width - bar * (0.6 + 0.9 * index)
        box = (x - radius, bar / 2 - radius, x + radius, bar / 2 + radius)
        if mac:
            paper.draw.ellipse(box, fill=colour)
        else:
            paper.draw.rectangle(box, outline=colour, width=2)


def _window(paper: Paper, top: float, panel: str, ink: str) -> None:
    side = paper.width * paper.dice.uniform(0.18, 0.3)
    paper.draw.rectangle((0, top, side, paper.height), fill=panel)
    _lines(paper, (8, top + 10, side - 8, paper.height), ink, 9, 18)
    _buttons(paper, side + 10, top + 8, panel, ink, paper.dice.randint(3, 7))
    _tiles(paper, (side + 10, top + 40, paper.width - 10, paper.height - 10), panel, ink)


def _web(paper: Paper, top: float, panel: str, ink: str) -> None:
    paper.draw.rounded_rectangle((10, top + 4, paper.width - 10, top + 20), 8, fill=panel, outline="#999999")
    paper.text((20, top + 12), f"www.{paper.word()}.com", 10, ink, "lm")
    hero = top + 26 + paper.height * paper.dice.uniform(0.12, 0.35)
    paper.draw.rectangle((0, top + 26, paper.width, hero), fill=blend(paper.palette[0], _WHITE, 0.8))
    paper.text((20, (top + hero) / 2 + 8), paper.words(3), 22, "#ffffff", "lm")
    _buttons(paper, 20, hero - 26, paper.palette[1], "#ffffff", 1)
    _tiles(paper, (14, hero + 12, paper.width - 14, paper.height - 8), panel, ink)


def _chat(paper: Paper, top: float, panel: str, ink: str) -> None:
    y = top + 8
    while y < paper.height - 50:
        mine, wide, tall = (
            paper.dice.random() < 0.5,
            paper.width * paper.dice.uniform(0.3, 0.6),
            paper.dice.choice((24, 40, 56)),
        )
        x = paper.width - wide - 10 if mine else 10
        colour = paper.palette[0] if mine else panel
        paper.draw.rounded_rectangle((x, y, x + wide, y + tall), 10, fill=colour)
        _lines(paper, (x + 8, y + 6, x + wide - 8, y + tall - 2), "#ffffff" if mine else ink, 10, 15)
        y += tall + 8
    paper.draw.rounded_rectangle(
        (10, paper.height - 30, paper.width - 10, paper.height - 8), 10, outline="#999999", width=2
    )


def _form(paper: Paper, top: float, panel: str, ink: str) -> None:
    rows = paper.dice.randint(4, 8)
    tall = (paper.height - top - 40) / rows
    for row in range(rows):
        y = top + 8 + row * tall
        paper.text((16, y + tall / 2), paper.words(2), min(13, tall * 0.5), ink, "lm")
        left, right, middle = paper.width * 0.45, paper.width * 0.9, y + tall / 2
        if paper.dice.random() < 0.4:
            on = paper.dice.random() < 0.5
            paper.draw.rounded_rectangle(
                (right - 34, middle - 8, right, middle + 8), 8, fill=paper.palette[0] if on else "#999999"
            )
            x = right - 9 if on else right - 25
            paper.draw.ellipse((x - 6, middle - 6, x + 6, middle + 6), fill="#ffffff")
        else:
            paper.draw.rounded_rectangle((left, y + 4, right, y + tall - 4), 4, fill=panel, outline="#999999", width=2)
            paper.text((left + 6, middle), paper.word(), min(12, tall * 0.45), ink, "lm")
    _buttons(paper, paper.width * 0.6, paper.height - 28, paper.palette[0], "#ffffff", 2)


def _phone(paper: Paper, top: float, panel: str, ink: str) -> None:
    if paper.dice.random() < 0.4:
        for row in range(5):
            for column in range(4):
                x, y = (column + 0.5) * paper.width / 4, top + 30 + row * (paper.height - top - 60) / 5
                paper.draw.rounded_rectangle((x - 17, y - 10, x + 17, y + 24), 9, fill=paper.dice.choice(paper.palette))
                paper.text((x, y + 32), paper.word()[:7], 8, ink, "mm")
        return
    y, tall = top + 8, paper.dice.choice((36, 50, 70))
    while y < paper.height - 44:
        paper.draw.rounded_rectangle((8, y, paper.width - 8, y + tall - 6), 6, fill=panel)
        paper.draw.ellipse((14, y + 6, 14 + tall - 18, y + tall - 12), fill=paper.dice.choice(paper.palette))
        _lines(paper, (tall + 6, y + 7, paper.width - 16, y + tall - 8), ink, 11, 16)
        y += tall
    paper.draw.rectangle((0, paper.height - 34, paper.width, paper.height), fill=panel)
    for index in range(4):
        x = (index + 0.5) * paper.width / 4
        paper.draw.ellipse((x - 8, paper.height - 25, x + 8, paper.height - 9), outline=ink, width=3)


def _editor(paper: Paper, top: float, panel: str, ink: str) -> None:
    side = paper.width * paper.dice.choice((0.0, 0.2))
    paper.draw.rectangle((0, top, side, paper.height), fill=panel)
    _lines(paper, (8, top + 10, max(9, side - 8), paper.height), ink, 9, 15)
    y, number = top + 8, 1
    while y < paper.height - 12:
        x = side + 34 + 16 * paper.dice.choice((0, 1, 1, 2, 2, 3))
        paper.text((side + 24, y), str(number), 9, "#888888", "ra")
        for _ in range(paper.dice.choice((0, 1, 2, 3, 4))):
            word = paper.word()
            paper.text((x, y), word, 10, paper.dice.choice((*paper.palette[:4], ink)))
            x += 7 * len(word)
        y, number = y + 13, number + 1


def _lines(paper: Paper, box: tuple[float, float, float, float], ink: str, size: float, leading: float) -> None:
    left, y, right, bottom = box
    while y < bottom - size:
        room = max(3, int((right - left) / (size * 0.55)))
        paper.text((left, y), paper.words(4)[:room], size, ink)
        y += leading


def _buttons(paper: Paper, x: float, y: float, colour: str, ink: str, count: int) -> None:
    for _ in range(count):
        word = paper.word()[:6]
        wide = 12 + 7 * len(word)
        paper.draw.rounded_rectangle((x, y, x + wide, y + 20), 5, fill=colour, outline="#888888")
        paper.text((x + wide / 2, y + 10), word, 11, ink, "mm")
        x += wide + 6


def _tiles(paper: Paper, box: tuple[float, float, float, float], panel: str, ink: str) -> None:
    columns, rows = paper.dice.randint(1, 4), paper.dice.randint(1, 3)
    wide, tall = (box[2] - box[0]) / columns, (box[3] - box[1]) / rows
    if wide < 30 or tall < 24:
        return
    for row in range(rows):
        for column in range(columns):
            x, y = box[0] + column * wide, box[1] + row * tall
            paper.draw.rounded_rectangle((x, y, x + wide - 8, y + tall - 8), 4, fill=panel)
            if paper.dice.random() < 0.5:
                paper.draw.rectangle(
                    (x + 5, y + 5, x + wide - 13, y + tall * 0.45), fill=paper.dice.choice(paper.palette)
                )
                y += tall * 0.45
            _lines(paper, (x + 6, y + 6, x + wide - 14, box[1] + (row + 1) * tall - 8), ink, 9, 14)
