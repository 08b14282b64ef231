"""Boxes to lines, and lines to reading order."""

import random
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.intake.finding import TextLine
from headworks.intake.image.ocr.boxes import Box
from headworks.intake.image.ocr.lines import join_lines
from headworks.intake.span import ImageOrigin
from tests.intake.image.ocr.boxes import LINE, box, from_the_side, line, turned

ITEMS = ["COFFEE BEANS 1KG", "OAT MILK", "2 X GREEN TEA", "SUBTOTAL", "DISCOUNT", "TOTAL EUR"]
PRICES = ["18.50", "3.90", "7.25", "29.65", "-2.00", "27.65"]
LEFT = [
    "Ferns grow where the light is weak and",
    "the soil stays damp. Their leaves unroll",
    "slowly in spring, and each carries rows",
    "of spores on its lower side. Nobody",
    "plants them here.",
]
RIGHT = [
    "Bread was cheaper in the lower town, and",
    "every Friday the bakers carried it up",
    "the hill, sold what they could, and gave",
    "the rest to the school.",
]
PITCH = 30


def read(boxes: Iterable[Box]) -> list[str]:
    shuffled = list(boxes)
    random.Random(7).shuffle(shuffled)
    return [one.text for one in join_lines(shuffled)]


def column(lines: list[str], left: float, top: float) -> list[Box]:
    return [line(text, left, top + PITCH * number) for number, text in enumerate(lines)]


def receipt() -> list[Box]:
    return column(ITEMS, 20, 50) + column(PRICES, 320, 50)


def two_columns(top: float = 100) -> list[Box]:
    return column(LEFT, 20, top) + column(RIGHT, 420, top)


def test_side_by_side_is_one_line_in_reading_order() -> None:
    """A price belongs to its item."""
    boxes = [
        box("3.50", 200, 12, 240, 30, 0.7),
        box("Tea", 10, 50, 60, 70),
        box("Coffee", 10, 10, 80, 30),
        box("2.00", 200, 48, 240, 69),
    ]
    assert join_lines(boxes) == (
        TextLine("Coffee 3.50", 0.7, ImageOrigin(10, 10, 240, 30)),
        TextLine("Tea 2.00", 0.9, ImageOrigin(10, 48, 240, 70)),
    )


def test_close_lines_stay_apart() -> None:
    """Tight print overlaps a little without being one line."""
    boxes = [box("one", 10, 10, 80, 30), box("two", 10, 26, 80, 46), box("three", 100, 41, 180, 60)]
    assert read(boxes) == ["one", "two", "three"]


@pytest.mark.parametrize(
    "seen",
    [
        lambda one: one,
        lambda one: turned(one, 5),
        lambda one: turned(one, -8),
        lambda one: turned(one, 20),
        from_the_side,
        lambda one: from_the_side(turned(one, 4)),
    ],
    ids=["flat", "5 degrees", "-8 degrees", "20 degrees", "perspective", "both"],
)
def test_price_stands_beside_its_item_on_a_photograph(seen: Callable[[Box], Box]) -> None:
    """At 5 degrees a price is a whole line lower than its item, at the other end of the receipt."""
    assert read(map(seen, receipt())) == [f"{item} {price}" for item, price in zip(ITEMS, PRICES, strict=True)]


def test_every_box_of_a_row_is_compared() -> None:
    """The last one may be the lowest."""
    boxes = [box("a", 10, 10, 60, 34), box("b", 100, 18, 150, 42), box("c", 200, 10, 250, 34)]
    assert read(boxes) == ["a b c"]


def test_columns_are_read_one_after_the_other() -> None:
    """Read across, two articles become nonsense."""
    title = line("Notes from the valley", 20, 30)
    assert read([title, *two_columns()]) == [title.text, *LEFT, *RIGHT]


def test_columns_are_read_one_after_the_other_on_a_turned_page() -> None:
    """The gutter slopes with the page."""
    assert read(turned(one, 7) for one in two_columns()) == [*LEFT, *RIGHT]


def test_columns_whose_lines_do_not_meet_are_read_one_after_the_other() -> None:
    """Each has its own pitch."""
    right = [line(text, 420, 108 + 34 * number) for number, text in enumerate(RIGHT)]
    assert read(column(LEFT, 20, 100) + right) == [*LEFT, *RIGHT]


def test_three_columns_are_read_in_order() -> None:
    """As newspapers have them."""
    third = [text[::-1] for text in LEFT]
    assert read(two_columns() + column(third, 820, 100)) == [*LEFT, *RIGHT, *third]


def test_line_over_both_columns_parts_what_is_above_from_what_is_below() -> None:
    """A wide line, a heading, or a line after much white is read between the two."""
    wide = line("A line of print that goes from the left column far into the right one, and on", 20, 260)
    heading = Box("Prices", 0.9, box("", 20, 260, 130, 260 + 1.6 * LINE).corners)
    alone = line("Page 4", 20, 350)
    for between in (wide, heading, alone):
        expected = [*LEFT, *RIGHT, between.text, *LEFT, *RIGHT]
        assert read([*two_columns(), between, *two_columns(420)]) == expected


def test_table_is_read_row_by_row() -> None:
    """Its cells are short, or differ in width; a price is no column of text."""
    names = ["Ada", "Grace Hopper", "Edsger Wybe Dijkstra", "Barbara"]
    places = ["London", "New York, NY 10001", "Rotterdam", "Los Angeles, California, United States"]
    assert read(column(names, 20, 50) + column(places, 320, 50)) == [
        f"{name} {place}" for name, place in zip(names, places, strict=True)
    ]


def test_two_lines_beside_two_lines_are_rows() -> None:
    """So few are as often a table."""
    assert read(column(LEFT[:2], 20, 50) + column(RIGHT[:2], 420, 50)) == [
        f"{left} {right}" for left, right in zip(LEFT[:2], RIGHT[:2], strict=True)
    ]


def test_vertical_print_joins_no_row() -> None:
    """Along the margin it overlaps every line."""
    margin = box("COPY ONLY", 2, 40, 18, 240)
    assert sorted(read([*receipt(), margin])) == sorted([margin.text, *read(receipt())])


def test_digit_that_is_higher_than_wide_joins_its_row() -> None:
    """A count of one is print like other print."""
    assert read([box("1", 10, 10, 22, 34), line("COFFEE", 60, 10)]) == ["1 COFFEE"]


def test_no_boxes_are_no_lines() -> None:
    """A picture without print."""
    assert join_lines([]) == ()


@given(
    st.lists(
        st.tuples(*[st.integers(0, 300)] * 2, st.integers(0, 200), st.integers(0, 60), st.integers(-90, 90)),
        max_size=12,
    )
)
def test_every_box_is_in_one_line(sides: list[tuple[int, int, int, int, int]]) -> None:
    """Whatever lies over whatever, at whatever angle."""
    boxes = [
        turned(box(f"w{number}", left, top, left + width, top + height), angle)
        for number, (left, top, width, height, angle) in enumerate(sides)
    ]
    words = [word for one in join_lines(boxes) for word in one.text.split()]
    assert sorted(words) == sorted(one.text for one in boxes)
