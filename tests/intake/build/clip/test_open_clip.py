"""What we say of open_clip, held against open_clip itself. Run in the environment of requirements/export.txt."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headworks.intake.build.clip.recipe import exported_clip, preprocessing, write_clip
from headworks.intake.build.clip.source import ClipParts, OpenClipSource
from headworks.intake.build.clip.tokenizer import TOKENIZER, write_tokenizer
from headworks.intake.build.errors import PullFailed
from headworks.intake.image.label_sets import default_label_sets, prompts_of
from headworks.intake.image.preparation import ClipPreprocessing, Interpolation, Resize, prepare
from headworks.intake.image.prompt_tokens import tokenize
from tests.intake.image.golden_preparation import FILL, MEAN, SIZE, STD, shade

open_clip: Any = pytest.importorskip("open_clip", reason="open_clip is not installed; it is in requirements/export.txt")
pytestmark = pytest.mark.filterwarnings("default")

CONTEXT = 77
HOW = ClipPreprocessing(224, (0.5,) * 3, (0.5,) * 3, CONTEXT, 100.0)
TEXTS = [
    "",
    "   ",
    "a photo of a cat",
    "A Photo, of the DOG's  house!!",
    "naïve café",
    "cafe\u0301 nai\u0308ve",
    "東京タワーの写真",
    "🐈\u200d⬛ and 👩\u200d👩\u200d👧 🇩🇪",
    "tab\tnew\nline\u00a0nbsp\u3000wide",
    "it's we're I'll they've I'd don't 'tis",
    "12345 3.14 ½ ²",
    "\u201ccurly\u201d \u2018quotes\u2019 \u02bc",
    "عربي हिन्दी ไทย",
    "İstanbul",
    "\u2026\u2014\u2013 a_b-c/d\\e@f #tag $5",
    "<start_of_text> hi <END_OF_TEXT>",
    "word " * 100,
    "x" * 500,
]


@pytest.fixture(scope="module")
def tokenizer_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(open_clip.get_tokenizer("ViT-B-32"), into)
    return into / TOKENIZER


@pytest.mark.parametrize("text", TEXTS)
def test_tokenizer_file_reads_as_open_clip_does(tokenizer_file: Path, text: str) -> None:
    """Id by id, padding and the cut of a long text with them."""
    expected = open_clip.get_tokenizer("ViT-B-32")([text]).numpy()
    np.testing.assert_array_equal(tokenize(tokenizer_file, [text], HOW), expected)


def test_default_prompts_are_read_as_open_clip_does(tokenizer_file: Path) -> None:
    """No prompt is cut either: none has 77 tokens."""
    prompts = [prompt for prompts in prompts_of(default_label_sets()) for prompt in prompts]
    found = tokenize(tokenizer_file, prompts, HOW)
    np.testing.assert_array_equal(found, open_clip.get_tokenizer("ViT-B-32")(prompts).numpy())
    assert not found[:, -1].any()


@pytest.mark.parametrize("interpolation", Interpolation)
@pytest.mark.parametrize("resize", Resize)
@pytest.mark.parametrize("sides", [(640, 480), (101, 333), (7, 7)])
def test_pictures_are_prepared_as_open_clip_does(
    sides: tuple[int, int], resize: Resize, interpolation: Interpolation
) -> None:
    """The golden file was made so; this is what it is held to."""
    from open_clip.transform import PreprocessCfg, image_transform_v2
    from PIL import Image

    settings = PreprocessCfg(SIZE, "RGB", MEAN, STD, interpolation.value, resize.value, FILL)
    expected = image_transform_v2(settings, is_train=False)(Image.fromarray(shade(*sides))).numpy()
    how = ClipPreprocessing(SIZE, MEAN, STD, CONTEXT, 100.0, 0, resize, (FILL,) * 3, interpolation)
    assert np.abs(prepare(shade(*sides), how)[0] - expected).max() <= 1e-6


@pytest.mark.parametrize("is_custom", [False, True])
def test_small_model_is_exported_whole(tmp_path: Path, is_custom: bool) -> None:
    """Both of open_clip's classes with its own towers and QuickGELU, compared by what the recipe compares with."""
    from open_clip.model import CLIP, CustomTextCLIP

    model = (CustomTextCLIP if is_custom else CLIP)(
        32,
        {"image_size": 32, "patch_size": 16, "width": 32, "layers": 1, "head_width": 16},
        {"context_length": CONTEXT, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
        quick_gelu=True,
    )
    parts = ClipParts(model, open_clip.get_tokenizer("ViT-B-32"), vars(open_clip.transform.PreprocessCfg(32)))
    notes = write_clip(parts, tmp_path, lambda what, done, total: None)
    assert set(notes) == {"image.onnx_difference", "text.onnx_difference"}
    assert {path.name for path in tmp_path.iterdir()} == {
        "image.onnx",
        "text.onnx",
        "tokenizer.json",
        "preprocess.json",
        "labels.json",
    }


def test_names_and_tags_are_open_clips() -> None:
    """OpenAI's weights by default where there are some."""
    assert exported_clip("ViT-B-32", OpenClipSource()).name == "ViT-B-32--openai"
    assert exported_clip("ViT-B-16-SigLIP", OpenClipSource()).tag == "webli"
    with pytest.raises(PullFailed, match="no model 'ViT-B-33'; it has ViT-B-32"):
        exported_clip("ViT-B-33", OpenClipSource())
    with pytest.raises(PullFailed, match="no weights for"):
        exported_clip("mt5-base-ViT-B-32", OpenClipSource())


def test_preprocessing_of_a_built_model_is_open_clips() -> None:
    """`create_model` puts the tag's settings on the model; SigLIP's squash and its mean of a half are not the
    defaults."""
    settings = open_clip.get_pretrained_cfg("ViT-B-16-SigLIP", "webli")
    model = open_clip.create_model("RN50", pretrained=None, force_preprocess_cfg=settings)
    how = preprocessing(ClipParts(model, None, model.visual.preprocess_cfg), 0)
    assert (how.size, how.mean, how.resize) == (224, (0.5,) * 3, Resize.SQUASH)


def test_dead_host_is_one_sentence(tmp_path: Path) -> None:
    """The command says what to do, and the store stays empty."""
    command = [sys.executable, "-m", "headworks.server.cli", "models", "pull", "--only", "clip"]
    found = subprocess.run(
        [*command, "--clip", "ViT-B-32", "--store", str(tmp_path)],
        env={**os.environ, "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path / "hub")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 1
    assert "The weights of ViT-B-32:openai cannot be reached (ConnectError)" in found.stderr
    assert "Traceback" not in found.stderr
    assert not (tmp_path / "clip").exists()
