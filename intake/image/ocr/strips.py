"""Crops of print cut and put together so that one recognition run stays small. Pure.

A run's output has a score for each of 18,710 characters at every eighth column: that is 9 kB a column.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from headworks.intake.image.ocr.seams import find_seams
from headworks.intake.image.picture import Pixels

_HEIGHT = 48
"""Rows that recognition scales a strip to."""
_LEAST_COLUMNS = 320
"""Columns that a shorter strip is padded to (rapidocr's config.yaml, rec_img_shape)."""
_MOST_COLUMNS = 1920
"""Of a strip after scaling: a line of about 100 letters. A longer line is cut, and read in parts."""
_RUN_COLUMNS = 5760
"""Of all strips of a run, with what pads the shorter ones: about 50 MB of scores."""
_RUN_STRIPS = 6
"""rapidocr's own number (config.yaml, rec_batch_num)."""
_SPACE = 0.14
"""Blank run over height from which a seam is a space between words. Print fills half of a crop's height; of five
heights of a common typeface, spaces were 0.13 to 0.20 and gaps between digits 0.12 to 0.15."""


@dataclass(frozen=True, slots=True)
class Strip:
    """A line of print, or a part of one."""

    box: int
    """Which box it is of."""
    pixels: Pixels
    has_space: bool
    """Whether a space parts it from the strip before it, of the same box."""

    @property
    def columns(self) -> int:
        """After scaling and padding."""
        return max(_LEAST_COLUMNS, _columns(self.pixels))


@dataclass(frozen=True, slots=True)
class Reading:
    """What recognition made of a strip, or of all strips of a box."""

    text: str
    confidence: float


def cut_strips(box: int, crop: Pixels) -> list[Strip]:
    """Cut a crop where it is wider than recognition may get it; from left to right."""
    height, width = crop.shape[:2]
    seams = find_seams(crop, max(1, _MOST_COLUMNS * height // _HEIGHT))
    bounds = pairwise([0, *(seam.place for seam in seams), width])
    spaces = [False, *(seam.blank >= _SPACE * height for seam in seams)]
    return [Strip(box, crop[:, start:end], gap) for (start, end), gap in zip(bounds, spaces, strict=True)]


def runs(strips: Iterable[Strip]) -> Iterator[list[Strip]]:
    """Gather strips to runs; best with the narrow ones first, since the widest of a run pads all others."""
    run: list[Strip] = []
    for strip in strips:
        widest = max(one.columns for one in (*run, strip))
        if len(run) == _RUN_STRIPS or (run and (len(run) + 1) * widest > _RUN_COLUMNS):
            yield run
            run = []
        run.append(strip)
    if run:
        yield run


def join_readings(parts: Sequence[tuple[Strip, Reading]]) -> Reading:
    """Put the parts of one box together; a part counts for as much confidence as it has characters."""
    text, characters, weighed = "", 0, 0.0
    for strip, reading in parts:
        text += " " + reading.text if strip.has_space and text and reading.text else reading.text
        characters += len(reading.text)
        weighed += reading.confidence * len(reading.text)
    return Reading(text, weighed / characters if characters else 0.0)


def _columns(pixels: Pixels) -> int:
    height, width = pixels.shape[:2]
    return -int(-_HEIGHT * width // height)
