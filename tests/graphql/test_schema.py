"""The subgraph, asked without HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest

from headworks.graphql.execution import MASKED, Graph, GraphqlRequest
from headworks.graphql.ports.tables import RowsFault, RowsRequest
from headworks.graphql.ports.turns import Failed, Refused, Turns
from headworks.graphql.sdl import subgraph_sdl
from headworks.graphql.settings import GraphqlSettings
from headworks.policy.identity.caller import Caller
from tests.fakes.graph import (
    ADA,
    BOB,
    AnsweringTurns,
    BreakingTurns,
    OwnedTables,
    RecordingGraphqlObserver,
)

GOLDEN = Path(__file__).parents[2] / "graphql" / "schema.graphql"
ROWS = """query Rows($first: Int! = 2, $after: String, $filters: [RowFilter!], $id: ID! = "tbl-orders") {
  table(id: $id) { __typename ... on Table { rows(first: $first, after: $after, filters: $filters) {
    __typename
    ... on RowConnection { edges { cursor node { number values } } pageInfo { hasNextPage endCursor } }
    ... on BadFilter { filter message }
    ... on BadPage { argument message }
    ... on RowsFailed { code message }
  } } }
}"""
TURN = """mutation Turn($input: TurnInput!) { turn(input: $input) { __typename
  ... on TurnFinished { turnId text finishReason usage { inputTokens outputTokens }
    verdict { allow decisionId trust reasons } }
  ... on TurnRefused { decisionId reasons }
  ... on TurnFailed { code message turnId } } }"""


class Asking:
    """A graph over fakes."""

    def __init__(
        self,
        turns: Turns | None = None,
        settings: GraphqlSettings | None = None,
        tables: OwnedTables | None = None,
    ) -> None:
        self.tables = tables or OwnedTables()
        self.observer = RecordingGraphqlObserver()
        self.turns = turns or AnsweringTurns()
        self.graph = Graph(settings or GraphqlSettings(), self.tables, self.observer)

    async def ask(self, query: str, caller: Caller = ADA, **variables: Any) -> Any:
        return json.loads((await self.graph.answer(GraphqlRequest(query, variables), caller, self.turns)).body)

    async def data(self, query: str, caller: Caller = ADA, **variables: Any) -> Any:
        response = await self.ask(query, caller, **variables)
        assert "errors" not in response, response
        return response["data"]

    async def code(self, query: str, **variables: Any) -> Any:
        response = await self.ask(query, **variables)
        return response["errors"][0]["extensions"]["code"]


def test_printing_the_schema_gives_no_diff() -> None:
    """Routers compose the committed file, so it must be what is served."""
    assert subgraph_sdl() == GOLDEN.read_text()


async def test_columns_and_profile_are_those_of_the_store() -> None:
    """The graph adds nothing to the profile and loses nothing of it."""
    asking = Asking()
    query = """{ table(id: "tbl-orders") { ... on Table { id profile { format rows }
      columns { name type nulls distinct minimum maximum } } } }"""
    table = (await asking.data(query))["table"]
    assert table["id"] == "tbl-orders"
    assert table["profile"] == {"format": "csv", "rows": 4}
    assert table["columns"][1] == {
        "name": "orders",
        "type": "BIGINT",
        "nulls": 1,
        "distinct": 3,
        "minimum": "120",
        "maximum": "310",
    }


async def test_pages_of_rows_join_up_to_the_whole_table() -> None:
    """Following endCursor sees every row once, in order."""
    asking = Asking()
    seen, after = [], None
    while True:
        rows = (await asking.data(ROWS, first=3, after=after))["table"]["rows"]
        seen += [edge["node"]["number"] for edge in rows["edges"]]
        after = rows["pageInfo"]["endCursor"]
        if not rows["pageInfo"]["hasNextPage"]:
            break
    assert seen == [0, 1, 2, 3]


async def test_filters_reach_the_store_and_keep_row_numbers() -> None:
    """A filtered row still tells where it stands in the upload."""
    asking = Asking()
    filters = [{"column": "month", "operator": "CONTAINS", "value": "r"}, {"column": "orders", "operator": "IS_NULL"}]
    rows = (await asking.data(ROWS, filters=filters))["table"]["rows"]
    assert [edge["node"] for edge in rows["edges"]] == [{"number": 1, "values": ["February", None]}]


async def test_a_filter_on_an_unknown_column_is_a_union_member() -> None:
    """An expected error is typed, not an entry of `errors`."""
    filters = [
        {"column": "month", "operator": "EQ", "value": "March"},
        {"column": "secret", "operator": "EQ", "value": "x"},
    ]
    rows = (await Asking().data(ROWS, filters=filters))["table"]["rows"]
    assert rows["__typename"] == "BadFilter"
    assert rows["filter"] == 1


@pytest.mark.parametrize(
    ("argument", "variables"),
    [
        ("first", {"first": 0}),
        ("first", {"first": -1}),
        ("first", {"first": 201}),
        ("after", {"after": "row:-1"}),
        ("after", {"after": "row:9999999999999999999999"}),
        ("after", {"after": ""}),
    ],
)
async def test_a_page_out_of_bounds_names_its_argument(argument: str, variables: dict[str, Any]) -> None:
    """A page is bounded, and a cursor is one of ours."""
    rows = (await Asking().data(ROWS, **variables))["table"]["rows"]
    assert (rows["__typename"], rows["argument"]) == ("BadPage", argument)


async def test_more_filters_than_allowed_is_a_bad_filter() -> None:
    """The store is not asked."""
    filters = [{"column": "month", "operator": "NE", "value": str(n)} for n in range(17)]
    rows = (await Asking().data(ROWS, filters=filters))["table"]["rows"]
    assert (rows["__typename"], rows["filter"]) == ("BadFilter", 16)


async def test_rows_that_cannot_be_read_are_a_union_member() -> None:
    """A limit of the store is told with its code, not as an entry of `errors`."""

    class FullTables(OwnedTables):
        async def rows(self, request: RowsRequest, caller: Caller) -> RowsFault:
            return RowsFault("TOO_LARGE", "intake.table.max_seconds allows 20, the input has 21")

    rows = (await Asking(tables=FullTables()).data(ROWS))["table"]["rows"]
    assert rows == {
        "__typename": "RowsFailed",
        "code": "TOO_LARGE",
        "message": "intake.table.max_seconds allows 20, the input has 21",
    }


async def test_somebody_elses_table_looks_like_no_table() -> None:
    """Nobody learns from the answer which ids exist."""
    query = '{ table(id: "tbl-orders") { __typename ... on TableNotFound { id message } } }'
    missing = query.replace("tbl-orders", "tbl-missing")
    theirs = (await Asking().data(query, BOB))["table"]
    unknown = (await Asking().data(missing, BOB))["table"]
    assert theirs == {**unknown, "id": "tbl-orders"}
    assert theirs["__typename"] == "TableNotFound"


async def test_entities_are_resolved_in_one_batch() -> None:
    """A router asks for many tables at once; the store is asked once, and order and gaps are kept."""
    asking = Asking()
    wanted = [{"__typename": "Table", "id": each} for each in ("tbl-orders", "tbl-missing", "tbl-orders")]
    query = "query E($r: [_Any!]!) { _entities(representations: $r) { ... on Table { id profile { rows } } } }"
    entities = (await asking.data(query, r=wanted))["_entities"]
    orders = {"id": "tbl-orders", "profile": {"rows": 4}}
    assert entities == [orders, None, orders]
    assert asking.tables.lookups == [("tbl-orders", "tbl-missing")]


async def test_service_sdl_names_the_entity_key() -> None:
    """What a router composes from."""
    sdl = (await Asking().data("{ _service { sdl } }"))["_service"]["sdl"]
    assert 'type Table @key(fields: "id")' in sdl
    assert "federation/v2.3" in sdl


@pytest.mark.parametrize(
    "representation",
    [{"id": "x"}, {"__typename": "Row", "id": "x"}, {"__typename": "Table"}, {"__typename": "Table", "id": 7}, "x", []],
)
async def test_a_representation_that_is_none_voids_no_other(representation: object) -> None:
    """It is null with an error at its own place, and does not reach the store (Netflix/dgs-framework#1593)."""
    asking = Asking()
    query = "query E($r: [_Any!]!) { _entities(representations: $r) { ... on Table { id } } }"
    good = {"__typename": "Table", "id": "tbl-orders"}
    response = await asking.ask(query, r=[good, representation, good])
    assert response["data"]["_entities"] == [{"id": "tbl-orders"}, None, {"id": "tbl-orders"}]
    (error,) = response["errors"]
    assert (error["path"], error["extensions"]) == (["_entities", 1], {"code": "BAD_REPRESENTATION"})
    assert asking.tables.lookups == [("tbl-orders",)]
    assert asking.observer.faults == []


async def test_too_many_representations_are_refused() -> None:
    """One request cannot open any number of tables."""
    query = "query E($r: [_Any!]!) { _entities(representations: $r) { ... on Table { id } } }"
    assert await Asking().code(query, r=[{"__typename": "Table", "id": str(n)} for n in range(51)]) == (
        "TOO_MANY_ENTITIES"
    )


async def test_a_finished_turn_tells_text_usage_and_verdict() -> None:
    """The whole answer of the gateway, as it was given."""
    turns = AnsweringTurns()
    turn = {"text": ["How many?", "In March."], "purpose": "demo", "maxOutputTokens": 8}
    result = (await Asking(turns).data(TURN, input=turn))["turn"]
    assert result == {
        "__typename": "TurnFinished",
        "turnId": "turn-1",
        "text": "310 orders.",
        "finishReason": "STOP",
        "usage": {"inputTokens": 12, "outputTokens": 4},
        "verdict": {"allow": True, "decisionId": "dec-1", "trust": 0.75, "reasons": ["OWN_TENANT"]},
    }
    (asked,) = turns.asked
    assert (asked.texts, asked.purpose, asked.max_output_tokens) == (("How many?", "In March."), "demo", 8)


async def test_a_refused_turn_quotes_its_decision() -> None:
    """A refusal is data that a client can show."""
    asking = Asking(AnsweringTurns(Refused("dec-9", ("TRUST_TOO_LOW",))))
    result = (await asking.data(TURN, input={"text": ["x"]}))["turn"]
    assert result == {"__typename": "TurnRefused", "decisionId": "dec-9", "reasons": ["TRUST_TOO_LOW"]}


async def test_a_failed_turn_names_its_code() -> None:
    """The same reason that a gRPC client reads."""
    asking = Asking(AnsweringTurns(Failed("ENGINE_UNAVAILABLE", "no engine takes turns now")))
    result = (await asking.data(TURN, input={"text": ["x"]}))["turn"]
    assert result["code"] == "ENGINE_UNAVAILABLE"
    assert result["turnId"] == ""


async def test_an_unknown_exception_is_masked_and_told_once() -> None:
    """The message of an exception may hold what the caller sent (aigw PR#2508)."""
    asking = Asking(BreakingTurns())
    response = await asking.ask(TURN, input={"text": ["the launch code is 0000"]})
    assert response["errors"][0]["message"] == MASKED
    assert "0000" not in str(response)
    (fault,) = asking.observer.faults
    assert fault.error_type == "RuntimeError"
    assert any(line.endswith(" run") for line in fault.stack)
    assert "0000" not in str(fault)


async def test_an_answer_without_faults_tells_the_observer_nothing() -> None:
    """A caller's mistakes are not the operator's."""
    asking = Asking()
    await asking.ask("{ nothing }")
    assert asking.observer.faults == []
