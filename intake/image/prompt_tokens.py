"""Label prompts to the token ids that a CLIP model's text tower takes."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from headworks.intake.image.preparation import ClipPreprocessing


def tokenize(path: Path, prompts: Sequence[str], how: ClipPreprocessing) -> NDArray[np.int64]:
    """Tokenize with the model's own start and end; a long prompt is cut before its end.

    Args:
        path: tokenizer.json.
    Returns:
        Shape (prompts, context_tokens).
    Raises:
        Exception: not such a file; `tokenizers` has no narrower one.
    """
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(how.context_tokens)
    tokenizer.enable_padding(length=how.context_tokens, pad_id=how.pad_token)
    return np.array([one.ids for one in tokenizer.encode_batch(list(prompts))], dtype=np.int64)
