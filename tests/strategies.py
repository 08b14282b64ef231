"""What Hypothesis draws in more than one test."""

from hypothesis import strategies as st

from headworks.policy.facts import MODALITIES, InputFacts, LabelFact
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.question import Question, Stage
from headworks.policy.trust.assess import Trust

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


plain_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
"""Text that UTF-8 can carry."""

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | plain_texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(plain_texts, inner, max_size=4),
    max_leaves=12,
)
"""What a JSON parser may hand on, NaN and infinities included."""

shares = st.floats(0, 1)
"""A score or confidence."""

_TENANTS = ["local", "clinic", "unmetered", "closed", "", "Local"]
_ROLES = ["operator", "analyst", "reader", "listener", "endless", "nobody"]
"""Those of the default policy, those of tests/policy/truth_table.json, and some that are in neither."""

_modalities = st.lists(st.sampled_from([*MODALITIES, "smell"]), unique=True, max_size=5).map(sorted).map(tuple)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """A question, likely to meet the names and ceilings of the default policy and its neighbours."""
    caller = Caller(
        tenant=draw(st.sampled_from(_TENANTS) | plain_texts),
        subject=draw(plain_texts),
        authenticated_by=draw(st.sampled_from(AuthenticatedBy)),
        roles=tuple(draw(st.lists(st.sampled_from(_ROLES), max_size=3))),
        attributes=draw(
            st.dictionaries(st.sampled_from(["region", "team"]), st.sampled_from(["eu", "us"]) | plain_texts)
        ),
    )
    modalities = draw(_modalities)
    sizes = st.sampled_from([0, 1, 1048576, 1048577, 67108864, 67108865]) | st.integers(-1, 2**53)
    facts = InputFacts(
        modalities=modalities,
        bytes_by_modality=tuple((name, draw(sizes)) for name in modalities),
        tokens=draw(st.sampled_from([0, 131072, 131073]) | st.integers(0, 2**53)),
        lowest_confidence=draw(st.none() | shares),
        labels=tuple(
            LabelFact(set_name, name, score)
            for set_name, name, score in draw(
                st.lists(st.tuples(st.sampled_from(["safety", "content"]), plain_texts, shares), max_size=2)
            )
        ),
    )
    return Question(
        turn_id=draw(plain_texts),
        stage=draw(st.sampled_from(Stage)),
        caller=caller,
        model=draw(st.sampled_from(["smollm2", "med-7b"]) | plain_texts),
        purpose=draw(plain_texts),
        max_output_tokens=draw(st.integers(0, 2**31)),
        input=facts,
        trust=Trust(score=draw(st.sampled_from([0.0, 0.2, 0.3, 0.9, 1.0]) | shares), factors=()),
    )
