"""What Hypothesis draws in more than one test."""

from hypothesis import strategies as st

TRICKY_TEXTS = (
    *(" ", "  ", "   ", "\t", "\n", "\n\n", " \n ", "\r\n", "\x0b", "\x1c", "\xa0", "\u2003", "\u3000", "\u200b"),
    *("a", "A", "ab", "ABc", "'ll", "'", "'S", "it's", "1", "12", "1234567", "½", "٣", "!", "/", "!/\n/", "...", "<|"),
    *(
        "é",
        "e\u0301",
        "\u0301",
        "\u0323",
        "ह",
        "िन्दी",
        "각",
        "\u1100",
        "\u1161",
        "日本語",
        "。",
        "👩‍👩‍👧",
        "🏽",
        "\ufe0f",
        "\u0378",
    ),
    *("<|im_end|>", "<|im_start|>", "<tool_call>", "<|im_", "end|>", "\ufffd", "\ue000", "\x00", "ǅ", "ß", "İ"),
)
"""Where tokenizers cut in odd ways: white space, digits, contractions, marks that compose, emoji, control tokens."""

texts = st.lists(st.one_of(st.sampled_from(TRICKY_TEXTS), st.text(max_size=5)), max_size=25).map("".join)
"""Text for tokenizers: any Unicode without surrogates, dense in tricky places."""


@st.composite
def cut_texts(draw: st.DrawFn) -> list[str]:
    """One text in pieces of any size, empty ones included."""
    text = draw(texts)
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    if draw(st.booleans()):
        return list(text)
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@st.composite
def cut_bytes(draw: st.DrawFn, whole: bytes) -> list[bytes]:
    """Bytes in pieces of any size, empty ones included."""
    places = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    return [whole[start:end] for start, end in zip([0, *places], [*places, len(whole)], strict=True)]
