"""open_clip's tokenizer as a tokenizer.json."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from headworks.intake.build.clip.tokenizer import TOKENIZER, convert_bpe, write_tokenizer
from headworks.intake.build.errors import ExportMismatch
from tests.intake.build.clip.towers import CONTEXT, VOCABULARY, LetterTokenizer

START, END = VOCABULARY["<start_of_text>"], VOCABULARY["<end_of_text>"]


def ids(text: str) -> list[int]:
    letters = LetterTokenizer()
    found: list[int] = convert_bpe(letters.encoder, list(letters.bpe_ranks), letters.all_special_ids).encode(text).ids
    return found


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        (" \t\n ", []),
        ("cat", ["cat</w>"]),
        ("CAT", ["cat</w>"]),
        ("cats", ["ca", "t", "s</w>"]),
        ("scat cab", ["s", "cat</w>", "ca", "b</w>"]),
        ("a cat's", ["a</w>", "cat</w>", "'", "s</w>"]),
        ("a cat\u2019s", ["a</w>", "cat</w>", "'", "s</w>"]),
        ("42", ["4</w>", "2</w>"]),
        ("a,b!?", ["a</w>", ",</w>", "b</w>", "!", "?</w>"]),
        ("e\u0301", ["\u00c3", "\u00a9</w>"]),
        ("\u00a0cat\u3000", ["cat</w>"]),
        ("<END_of_text>", ["<end_of_text>"]),
    ],
)
def test_text_is_cut_as_open_clip_cuts_it(text: str, tokens: list[str]) -> None:
    """Lower case, words, single digits, runs of signs; bytes as GPT-2 writes them."""
    assert ids(text) == [START, *(VOCABULARY[one] for one in tokens), END]


def test_tokenizer_that_has_no_file_is_refused(tmp_path: Path) -> None:
    """Rather than a model that reads other words at run time."""
    with pytest.raises(ExportMismatch, match="object cannot be written"):
        write_tokenizer(object(), tmp_path)


def test_written_file_pads_with_what_open_clip_pads(tmp_path: Path) -> None:
    """Zeros behind the end."""
    pad = write_tokenizer(LetterTokenizer(), tmp_path)
    read = Tokenizer.from_file(str(tmp_path / TOKENIZER))
    read.enable_padding(length=CONTEXT, pad_id=pad)
    assert read.encode("cat").ids == LetterTokenizer()(["cat"])[0].tolist()
