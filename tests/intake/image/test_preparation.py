"""preprocess.json, and pictures as open_clip prepares them."""

import json
from typing import Any

import numpy as np
import pytest

from headworks.intake.image.preparation import (
    ClipPreprocessing,
    Interpolation,
    Resize,
    parse_preprocessing,
    prepare,
    write_preprocessing,
)
from tests.intake.image.golden_preparation import (
    FILL,
    INTERPOLATIONS,
    MEAN,
    PATH,
    PICTURES,
    RESIZES,
    SIZE,
    STD,
    key,
    shade,
)

TOLERANCE = 1e-6
"""Both sides are float32 of the same 8-bit pixels; values lie within 2.2."""
RAW: dict[str, Any] = {"size": 8, "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.25, 0.3], "context_tokens": 6}
RAW["logit_scale"] = 10.0


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("resize", RESIZES)
@pytest.mark.parametrize("picture", PICTURES)
def test_prepared_picture_equals_open_clips(picture: str, resize: str, interpolation: str) -> None:
    """A model sees at run time what it saw in training."""
    how = ClipPreprocessing(SIZE, MEAN, STD, 77, 100.0, 0, Resize(resize), (FILL,) * 3, Interpolation(interpolation))
    with np.load(PATH) as golden:
        expected = golden[key(picture, resize, interpolation)]
    found = prepare(shade(*PICTURES[picture]), how)
    assert found.shape == (1, 3, SIZE, SIZE)
    assert found.dtype == np.float32
    assert np.abs(found[0] - expected).max() <= TOLERANCE


@pytest.mark.parametrize("resize", Resize)
@pytest.mark.parametrize("size", [(1, 1), (1, 3_000_000), (3_000_000, 1)])
def test_slim_pictures_stay_small(size: tuple[int, int], resize: Resize) -> None:
    """A slim picture must not be blown up before it is cropped; this one would have 2 TB (vllm PR#47010)."""
    how = parse_preprocessing(json.dumps({**RAW, "size": 512, "resize": resize}))
    assert prepare(np.zeros((*size, 3), np.uint8), how).shape == (1, 3, 512, 512)


def test_ground_has_the_colour_of_fill() -> None:
    """Red, green and blue in this order."""
    how = parse_preprocessing(json.dumps({**RAW, "resize": "longest", "fill": [255, 51, 0]}))
    corner = prepare(np.zeros((4, 40, 3), np.uint8), how)[0, :, 0, 0]
    np.testing.assert_allclose(corner, [(1 - 0.5) / 0.2, (0.2 - 0.4) / 0.25, (0 - 0.3) / 0.3], rtol=1e-6)


def test_what_is_written_is_read_back() -> None:
    """The recipes write it, the runtime reads it."""
    how = ClipPreprocessing(
        8, (0.5, 0.4, 0.3), (0.2, 0.25, 0.3), 6, 10.0, 1, Resize.LONGEST, (1, 2, 3), Interpolation.BILINEAR
    )
    assert parse_preprocessing(write_preprocessing(how)) == how


def test_fields_with_a_default_may_be_left_out() -> None:
    """Padded with 0, cropped as open_clip does it."""
    how = parse_preprocessing(json.dumps(RAW))
    assert (how.pad_token, how.resize, how.interpolation) == (0, Resize.SHORTEST, Interpolation.BICUBIC)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", 0),
        ("size", 8.0),
        ("size", True),
        ("size", 100_000),
        ("mean", [0.5, 0.4]),
        ("mean", 0.5),
        ("mean", [0.5, 0.4, "0.3"]),
        ("std", [0.2, 0.25, 0.0]),
        ("std", [0.2, 0.25, float("nan")]),
        ("context_tokens", 1_000_000),
        ("logit_scale", 0),
        ("logit_scale", float("inf")),
        ("logit_scale", "100"),
        ("pad_token", -1),
        ("resize", "tallest"),
        ("fill", [0, 0, 256]),
        ("fill", [0.5, 0.5, 0.5]),
        ("interpolation", "nearest"),
        ("sizes", 8),
    ],
)
def test_odd_field_is_refused(name: str, value: object) -> None:
    """A wrong number would only show as bad labels."""
    with pytest.raises(ValueError, match=r"preprocess\.json|valid"):
        parse_preprocessing(json.dumps({**RAW, name: value}))


@pytest.mark.parametrize("name", RAW)
def test_field_that_a_model_needs_is_asked_for(name: str) -> None:
    """The sentence names it."""
    with pytest.raises(ValueError, match=name):
        parse_preprocessing(json.dumps({key: value for key, value in RAW.items() if key != name}))


@pytest.mark.parametrize("text", ["[]", "7", '"size"', "null"])
def test_text_that_is_no_object_is_refused(text: str) -> None:
    """As a cut or exchanged file is."""
    with pytest.raises(ValueError, match="not an object"):
        parse_preprocessing(text)
