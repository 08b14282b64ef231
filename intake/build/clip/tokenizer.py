"""open_clip's tokenizers as a tokenizer.json, so that run time needs neither torch nor open_clip."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers.models import BPE
from tokenizers.normalizers import NFC, Lowercase, Replace
from tokenizers.normalizers import Sequence as Normalizers
from tokenizers.pre_tokenizers import ByteLevel, Split
from tokenizers.pre_tokenizers import Sequence as PreTokenizers
from tokenizers.processors import TemplateProcessing

from headworks.intake.build.errors import ExportMismatch

TOKENIZER = "tokenizer.json"
_WORD_END = "</w>"
_PIECES = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def write_tokenizer(tokenizer: Any, into: Path) -> int:
    """Write tokenizer.json from what `open_clip.get_tokenizer` returned: its own BPE converted, a Hugging Face one as
    it is.

    Returns:
        The token that pads.
    Raises:
        ExportMismatch: a kind of tokenizer that has no such file.
    """
    if hasattr(tokenizer, "bpe_ranks"):
        convert_bpe(tokenizer.encoder, list(tokenizer.bpe_ranks), tokenizer.all_special_ids).save(str(into / TOKENIZER))
        return 0
    backend = getattr(getattr(tokenizer, "tokenizer", None), "backend_tokenizer", None)
    if backend is None:
        raise ExportMismatch(f"{type(tokenizer).__name__} cannot be written as {TOKENIZER}; choose another model.")
    backend.save(str(into / TOKENIZER))
    return int(tokenizer.tokenizer.pad_token_id)


def convert_bpe(vocabulary: Mapping[str, int], merges: Sequence[tuple[str, str]], special: Sequence[int]) -> Tokenizer:
    """Build a `SimpleTokenizer`'s equal.

    Of ftfy's repairs it keeps composition (NFC) and straight quotes. Text that was decoded wrongly is not repaired,
    and HTML entities stay: prompts are the operator's own and hold neither.

    Args:
        vocabulary: Token to id; bytes are written as GPT-2 writes them, "</w>" ends a word.
        merges: Best first.
        special: Ids of the start, the end and any others; the first two enclose every text.
    Source:
        open_clip 3.3.0, tokenizer.py, SimpleTokenizer; quotes: ftfy 6.3.1, chardata.py.
    """
    words = {number: token for token, number in vocabulary.items()}
    start, end = words[special[0]], words[special[1]]
    tokenizer = Tokenizer(BPE(dict(vocabulary), list(merges), end_of_word_suffix=_WORD_END))
    tokenizer.add_special_tokens([AddedToken(words[number], normalized=True) for number in special])
    tokenizer.normalizer = Normalizers(
        [
            NFC(),
            Replace(Regex("[\u02bc\u2018-\u201b]"), "'"),
            Replace(Regex("[\u201c-\u201f]"), '"'),
            Lowercase(),
        ]
    )
    tokenizer.pre_tokenizer = PreTokenizers(
        [
            Split(Regex(_PIECES), behavior="removed", invert=True),
            ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.post_processor = TemplateProcessing(
        single=f"{start} $A {end}", special_tokens=[(start, special[0]), (end, special[1])]
    )
    return tokenizer
