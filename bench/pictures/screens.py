"""Screenshots by Chromium: `screens/NN.html`, each a program, a web page or a telephone, written by hand."""

from dataclasses import dataclass
from pathlib import Path
from random import Random

HERE = Path(__file__).parent / "screens"


@dataclass(frozen=True, slots=True)
class Screen:
    """One file, which holds its own style sheet."""

    number: int

    def page(self, _: Random) -> tuple[str, str]:
        """Return `<main>` and an empty style sheet."""
        return (HERE / f"{self.number:02}.html").read_text(encoding="utf-8"), ""


SCREENS = tuple(Screen(number) for number in range(1, 17))
