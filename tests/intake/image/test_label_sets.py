"""labels.json."""

import json

import pytest

from headworks.intake.image.label_sets import LabelSet, parse_label_sets, write_label_sets

SETS = {
    "content": LabelSet({"receipt": ("a receipt", "a till slip"), "übrige": ("something else",)}, 1.5),
    "safety": LabelSet({"safe": ("a harmless picture",), "gore": ("blood",)}),
}


def test_what_is_written_is_read_back_in_order() -> None:
    """Order decides ties and what is printed."""
    found = parse_label_sets(write_label_sets(SETS))
    assert found == SETS
    assert [list(one.labels) for one in found.values()] == [["receipt", "übrige"], ["safe", "gore"]]


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ([], "no label sets"),
        ({}, "no label sets"),
        ({"safety": {"safe": "a harmless picture"}}, "safety: not an object of temperature and labels"),
        ({"safety": {"temperature": 0, "labels": {"a": ["a"], "b": ["b"]}}}, "temperature 0"),
        ({"safety": {"temperature": True, "labels": {"a": ["a"], "b": ["b"]}}}, "temperature True"),
        ({"safety": {"temperature": float("inf"), "labels": {"a": ["a"], "b": ["b"]}}}, "temperature inf"),
        ({"safety": {"temperature": 1, "labels": {"a": ["a"], "b": ["b"]}, "note": ""}}, "not an object of"),
        ({"safety": {"temperature": 1, "labels": {"safe": ["a"]}}}, "two labels"),
        ({"safety": {"temperature": 1, "labels": ["safe", "gore"]}}, "two labels"),
        ({"safety": {"temperature": 1, "labels": {"a": "a", "b": ["b"]}}}, "a: no list of prompts"),
        ({"safety": {"temperature": 1, "labels": {"a": [], "b": ["b"]}}}, "a: no list of prompts"),
        ({"safety": {"temperature": 1, "labels": {"a": [" "], "b": ["b"]}}}, "no prompt"),
        ({"safety": {"temperature": 1, "labels": {"a": [7], "b": ["b"]}}}, "no prompt"),
        ({"safety": {"temperature": 1, "labels": {"a": ["x" * 401], "b": ["b"]}}}, "no prompt"),
        ({"safety": {"temperature": 1, "labels": {"": ["a"], "b": ["b"]}}}, "no name"),
        ({"safety": {"temperature": 1, "labels": {"a\n": ["a"], "b": ["b"]}}}, "no name"),
        ({"x" * 65: {"temperature": 1, "labels": {"a": ["a"], "b": ["b"]}}}, "no name"),
    ],
)
def test_odd_file_is_refused_with_its_place(body: object, what: str) -> None:
    """A set that is read wrongly would label wrongly, in silence."""
    with pytest.raises(ValueError, match=what):
        parse_label_sets(json.dumps(body))


def test_name_that_stands_there_twice_is_refused() -> None:
    """JSON readers keep the last one without a word."""
    twice = '{"s": {"temperature": 1, "labels": {"a": ["a"], "b": ["b"], "a": ["c"]}}}'
    with pytest.raises(ValueError, match="twice"):
        parse_label_sets(twice)
