"""Documents that would cost too much are refused before they are validated or run."""

import json
from typing import Any

import pytest
from graphql import get_introspection_query
from hypothesis import given
from hypothesis import strategies as st

from headworks.graphql.execution import Graph, GraphqlRequest
from headworks.graphql.settings import GraphqlSettings
from tests.fakes.graph import ADA, AnsweringTurns, OwnedTables, RecordingGraphqlObserver


def graph(settings: GraphqlSettings | None = None) -> Graph:
    return Graph(settings or GraphqlSettings(), OwnedTables(), RecordingGraphqlObserver())


async def answer(query: str, settings: GraphqlSettings | None = None, **variables: Any) -> dict[str, Any]:
    answered = await graph(settings).answer(GraphqlRequest(query, variables), ADA, AnsweringTurns())
    response: dict[str, Any] = json.loads(answered.body)
    return response


async def code(query: str, settings: GraphqlSettings | None = None) -> Any:
    return (await answer(query, settings))["errors"][0]["extensions"]["code"]


def fanned_out(fragments: int, inner: str) -> str:
    """Fragments that spread the next one twice: 2 to the power of `fragments` fields when opened one by one."""
    steps = [f"fragment f{n} on Query {{ ...f{n + 1} ...f{n + 1} }}" for n in range(fragments)]
    return "\n".join(["{ ...f0 }", *steps, f"fragment f{fragments} on Query {{ {inner} }}"])


async def test_a_deep_query_is_refused() -> None:
    """Depth is counted in selection sets."""
    fields = "{ a " * 13 + "}" * 13
    assert await code(fields) == "TOO_DEEP"


async def test_a_query_deep_through_fragments_is_refused() -> None:
    """A fragment does not hide depth."""
    assert await code(fanned_out(20, "__typename")) == "TOO_DEEP"


async def test_a_fragment_weighed_once_counts_where_it_is_deeper() -> None:
    """Spread first at the top, where it fits, and then further down, where it does not."""
    deep = "{ a " * 8 + "}" * 8
    assert await code(f"{{ ...f b {{ b {{ b {{ b {{ ...f }} }} }} }} }} fragment f on Query {deep}") == "TOO_DEEP"


async def test_a_fragment_that_spreads_itself_is_refused() -> None:
    """The guard runs before validation would find the cycle, so it must end by itself."""
    assert await code("{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }") == "TOO_DEEP"


async def test_a_flood_of_aliases_is_refused() -> None:
    """Each alias could run the field again."""
    aliases = " ".join(f'a{n}: table(id: "x") {{ __typename }}' for n in range(16))
    assert await code(f"{{ {aliases} }}") == "TOO_MANY_ALIASES"


async def test_aliases_are_counted_with_fragments_opened() -> None:
    """Nine fragments that each spread the next twice make 512 aliases out of one; weighing them is linear."""
    assert await code(fanned_out(9, 'a: table(id: "x") { __typename }')) == "TOO_MANY_ALIASES"


async def test_too_many_tokens_are_refused() -> None:
    """The document's length is bounded before it is parsed."""
    assert await code("{ " + "a " * 1_000 + "}") == "TOO_MANY_TOKENS"


@pytest.mark.parametrize("opening", ["{a", "{a(b:", "[", "{a(b:[", "{a(b:{c:"])
async def test_nested_brackets_never_reach_the_parser(opening: str) -> None:
    """The parser recurses; a thousand brackets would end in a RecursionError."""
    nested = opening * 100
    assert await code(nested) == "TOO_DEEP"


async def test_introspection_answers_while_it_is_on() -> None:
    """The standard query is deep, and must pass the guard."""
    response = await answer(get_introspection_query(input_value_deprecation=True))
    assert response["data"]["__schema"]["queryType"]["name"] == "Query"


@pytest.mark.parametrize(
    "query",
    [
        "{ __schema { types { name } } }",
        '{ __type(name: "Table") { name } }',
        "{ _service { sdl } }",
        "{ ...s } fragment s on Query { x: __schema { types { name } } }",
        "{ ... on Query { _service { sdl } } }",
    ],
)
async def test_introspection_is_off_when_set_off(query: str) -> None:
    """Off loopback nobody learns the schema by asking, the SDL included."""
    assert await code(query, GraphqlSettings(allow_introspection=False)) == "INTROSPECTION_OFF"


async def test_no_field_is_suggested_when_introspection_is_off() -> None:
    """A suggestion is introspection by guessing."""
    response = await answer('{ tabel(id: "x") }', GraphqlSettings(allow_introspection=False))
    assert "table" not in response["errors"][0]["message"].replace("tabel", "")


@pytest.mark.parametrize("query", ["", "   ", "{", "}", "query {", "\x00", '"', "{ table(id: 1e999999) }", "# c"])
async def test_a_malformed_document_is_an_error_without_data(query: str) -> None:
    """Nothing was run, and the client can tell."""
    response = await answer(query)
    assert response["errors"]
    assert "data" not in response


@pytest.mark.parametrize("query", ["query A { __typename } query B { __typename }", "fragment a on Query { table }"])
async def test_a_document_without_one_operation_is_refused(query: str) -> None:
    """Which one to run is the client's to say."""
    assert await code(query) == "NO_OPERATION"


async def test_a_subscription_is_no_query() -> None:
    """None are served yet; the answer says so rather than break."""
    response = await answer("subscription { tokens }")
    assert response["errors"]
    assert "data" not in response


@given(st.text(alphabet="{}()[]:!$@.. \n\"'abtable_#,1-|&=…\ud800", max_size=60))
async def test_no_document_is_our_fault(query: str) -> None:
    """Whatever is sent, the answer is data or an error of the sender's, never a masked one."""
    observer = RecordingGraphqlObserver()
    asked = Graph(GraphqlSettings(), OwnedTables(), observer)
    response = json.loads((await asked.answer(GraphqlRequest(query), ADA, AnsweringTurns())).body)
    assert "errors" in response or "data" in response
    assert observer.faults == []
