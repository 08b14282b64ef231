"""Small stand-ins for the rendered sheet and the drawn documents."""

from pathlib import Path

import numpy as np
from PIL import ImageFont

from headworks.intake.build.image_model.kinds import KINDS, Document, Documents
from headworks.intake.build.image_model.kinds import SIDE as PAPER_SIDE
from headworks.intake.build.image_model.render import SIDE, Sheet, Subject


def sheet(names: int = 60) -> Sheet:
    """Discs of different sizes, every third name an icon, one in ten with a skin tone, one in four in one colour."""
    subjects, pixels = [], np.zeros((names, SIDE, SIDE, 4), np.uint8)
    rows, columns = np.mgrid[0:SIDE, 0:SIDE] - SIDE / 2
    for place in range(names):
        pixels[place][np.hypot(rows, columns) < 20 + place % 25] = (
            (255, 255, 255, 255) if place % 4 == 0 else (200, 40, 40, 255)
        )
        subjects.append(
            Subject(
                "drawn",
                f"thing {place}",
                (f"word {place}",),
                is_emoji=place % 3 > 0,
                is_plain=place % 4 == 0,
                has_skin_tone=place % 10 == 1,
            )
        )
    return Sheet(subjects, pixels)


def documents(each: int = 4) -> Documents:
    """Grey pictures, wide ones."""
    items = [Document(kind, (kind, f"{kind} of numbers"), 120, 80) for kind in KINDS for _ in range(each)]
    return Documents(items, np.full((len(items), PAPER_SIDE, PAPER_SIDE, 3), 128, np.uint8))


def font(folder: Path) -> Path:
    """Pillow's own font as a file."""
    path = folder / "font.ttf"
    path.write_bytes(ImageFont.load_default(10).font_bytes)
    return path
