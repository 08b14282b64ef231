"""POST /graphql on a real server."""

import asyncio
import json

import httpx
import pytest

from headworks.server.http.graphql_route import GRAPHQL_JSON
from headworks.server.http.settings import HttpSettings
from tests.fakes.graph import AnsweringTurns, HangingTurns
from tests.server.http.conftest import BOB_KEY, Serve, Serving, raw

TABLE = '{ table(id: "%s") { __typename ... on Table { id profile { rows } } ... on TableNotFound { message } } }'
TURN = "mutation T($i: TurnInput!) { turn(input: $i) { ... on TurnFinished { text } } }"
BAD_BODIES = [
    b"",
    b"not json",
    b'{"query": "{ __typename }"',
    b"[]",
    b'[{"query": "{ __typename }"}]',
    b'"query"',
    b"7",
    b"{}",
    b'{"query": null}',
    b'{"extensions": {"persistedQuery": 7}}',
    b'{"extensions": []}',
    b'{"query": ["{ __typename }"]}',
    b'{"query": "{ __typename }", "variables": []}',
    b'{"query": "{ __typename }", "operationName": 7}',
    b'{"query": "{ __typename }", "variables": {"x": NaN}}',
    b'{"query": "{ __typename }", "variables": {"x": ' + b"9" * 5_000 + b"}}",
    b'{"query": "\\ud800"}',
    b'{"query": "\xff"}',
    b'{"query": ' + b"[" * 50_000,
    '{"query": "{ __typename }"}'.encode("utf-16"),
]


async def test_a_known_table_is_answered(serve: Serve) -> None:
    """The plain case, with the key of its owner."""
    serving = await serve(Serving())
    response = await serving.ask(TABLE % "tbl-orders")
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {
        "data": {"table": {"__typename": "Table", "id": "tbl-orders", "profile": {"rows": 4}}},
    }


async def test_somebody_elses_table_looks_like_no_table(serve: Serve) -> None:
    """Byte for byte: neither body nor status tells which ids exist."""
    serving = await serve(Serving())
    serving.client.headers["authorization"] = f"Bearer {BOB_KEY}"
    theirs, unknown = await serving.ask(TABLE % "tbl-orders"), await serving.ask(TABLE % "tbl-missing")
    assert theirs.json()["data"]["table"]["__typename"] == "TableNotFound"
    assert (theirs.status_code, theirs.content) == (unknown.status_code, unknown.content)


async def test_a_turn_runs_as_the_caller_of_the_key(serve: Serve) -> None:
    """Identity comes from the credentials, never from the request's body."""
    serving = await serve(Serving())
    response = await serving.ask(TURN, i={"text": ["How many?"]})
    assert response.json() == {"data": {"turn": {"text": "310 orders."}}}
    (visit,) = serving.visits
    assert (visit.caller.tenant, visit.caller.subject) == ("acme", "ada")


TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("headers", "is_loopback"),
    [({}, True), ({"x-forwarded-for": "203.0.113.7"}, False), ({"host": "evil.example"}, False)],
    ids=["direct", "forwarded", "rebound"],
)
async def test_a_turn_knows_how_its_request_came(serve: Serve, headers: dict[str, str], is_loopback: bool) -> None:
    """Each request by itself: one port serves local callers and those that a proxy forwards."""
    serving = await serve(Serving())
    serving.client.headers["traceparent"] = TRACEPARENT
    await serving.client.post("/graphql", json={"query": "{ __typename }"}, headers=headers)
    (visit,) = serving.visits
    assert (visit.is_loopback, visit.is_encrypted) == (is_loopback, False)
    assert visit.trace_headers == {"traceparent": TRACEPARENT}
    assert visit.peer == "127.0.0.1"


@pytest.mark.parametrize("body", BAD_BODIES, ids=range(len(BAD_BODIES)))
async def test_a_malformed_body_is_a_bad_request(serve: Serve, body: bytes) -> None:
    """Whatever is sent, the answer is ours, and the next request on the connection works (aigw PR#2053)."""
    serving = await serve(Serving())
    response = await serving.client.post("/graphql", content=body, headers={"content-type": "application/json"})
    assert (response.status_code, response.json()["reason"]) == (400, "BAD_REQUEST")
    assert (await serving.ask("{ __typename }")).json() == {"data": {"__typename": "Query"}}


async def test_a_form_is_no_graphql_request(serve: Serve) -> None:
    """A page of another site may send text/plain without asking; it may not run a turn so."""
    turns = AnsweringTurns()
    serving = await serve(Serving(turns=turns, allow_loopback=True))
    body = json.dumps({"query": TURN, "variables": {"i": {"text": ["x"]}}})
    response = await serving.client.post("/graphql", content=body, headers={"content-type": "text/plain"})
    assert response.status_code == 415
    assert turns.asked == []


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "deflate", "br", "identity, gzip", "x"])
async def test_a_compressed_body_is_another_media_type(serve: Serve, coding: str) -> None:
    """It is told what would have been taken, not that it is no JSON (apollographql/router#7008)."""
    serving = await serve(Serving())
    headers = {"content-type": "application/json", "content-encoding": coding}
    response = await serving.client.post("/graphql", content=b"\x1f\x8b...", headers=headers)
    assert (response.status_code, response.headers["accept-encoding"]) == (415, "identity")


async def test_a_body_sent_as_it_is_may_say_so(serve: Serve) -> None:
    """`identity` is no compression."""
    serving = await serve(Serving())
    serving.client.headers["content-encoding"] = "identity"
    assert (await serving.ask("{ __typename }")).json() == {"data": {"__typename": "Query"}}


HASH = {"persistedQuery": {"version": 1, "sha256Hash": "ecf4" * 16}}


@pytest.mark.parametrize("extra", [{}, {"query": ""}, {"variables": {"a": 1}, "operationName": "A"}])
async def test_the_hash_of_a_query_is_answered_as_clients_expect(serve: Serve, extra: dict[str, object]) -> None:
    """They then send the query itself; any other error they would show to their user (apollographql/router#2436)."""
    serving = await serve(Serving())
    response = await serving.client.post("/graphql", json={"extensions": HASH, **extra})
    assert response.status_code == 200
    (error,) = response.json()["errors"]
    assert (error["message"], error["extensions"]["code"]) == (
        "PersistedQueryNotSupported",
        "PERSISTED_QUERY_NOT_SUPPORTED",
    )


async def test_a_query_beside_its_hash_is_run(serve: Serve) -> None:
    """That is how clients register one."""
    serving = await serve(Serving())
    response = await serving.client.post("/graphql", json={"query": "{ __typename }", "extensions": HASH})
    assert response.json() == {"data": {"__typename": "Query"}}


async def test_an_oversized_body_is_refused_by_its_header(serve: Serve) -> None:
    """Nothing of it has to be sent for that."""
    serving = await serve(Serving(settings=HttpSettings(port=0, max_body_bytes=100)))
    key = serving.client.headers["authorization"]
    head = f"POST /graphql HTTP/1.1\r\nhost: x\r\nauthorization: {key}\r\ncontent-length: 101\r\n\r\n"
    answer = await raw(serving, head.encode())
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"http.max_body_bytes allows 100" in answer


async def test_an_oversized_body_without_a_length_is_cut(serve: Serve) -> None:
    """A chunked body is counted as it comes, and never held whole."""
    serving = await serve(Serving(settings=HttpSettings(port=0, max_body_bytes=100)))
    key = serving.client.headers["authorization"]
    head = f"POST /graphql HTTP/1.1\r\nhost: x\r\nauthorization: {key}\r\ntransfer-encoding: chunked\r\n\r\n"
    answer = await raw(serving, head.encode() + b"65\r\n" + b"x" * 0x65 + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "BREW"])
async def test_only_post_is_served(serve: Serve, method: str) -> None:
    """A GET could be cached, logged with its query, and sent by any page."""
    serving = await serve(Serving())
    response = await serving.client.request(method, "/graphql?query={__typename}")
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"


async def test_graphiql_is_served_only_when_set(serve: Serve) -> None:
    """It is a page for developers."""
    serving = await serve(Serving(settings=HttpSettings(port=0, has_graphiql=True)))
    response = await serving.client.get("/graphql", headers={"accept": "text/html"})
    assert response.status_code == 200
    assert "GraphiQL" in response.text
    assert (await serving.ask("{ __typename }")).status_code == 200


async def test_a_deep_query_and_an_alias_flood_are_refused(serve: Serve) -> None:
    """The guard of the graph holds over HTTP too."""
    serving = await serve(Serving())
    deep = await serving.ask("{ a " * 13 + "}" * 13)
    flood = await serving.ask("{ " + " ".join(f"a{n}: __typename" for n in range(16)) + " }")
    assert deep.json()["errors"][0]["extensions"]["code"] == "TOO_DEEP"
    assert flood.json()["errors"][0]["extensions"]["code"] == "TOO_MANY_ALIASES"


async def test_the_newer_media_type_gets_its_status_code(serve: Serve) -> None:
    """GraphQL over HTTP, section 6: with application/graphql-response+json a bad document is a 400."""
    serving = await serve(Serving())
    serving.client.headers["accept"] = GRAPHQL_JSON
    bad, good = await serving.ask("{ nothing }"), await serving.ask("{ __typename }")
    assert (bad.status_code, good.status_code) == (400, 200)
    assert bad.headers["content-type"] == good.headers["content-type"] == GRAPHQL_JSON


async def test_a_turn_ends_when_its_client_leaves(serve: Serve) -> None:
    """Cancel reaches the engine also when the peer just goes; the permit comes back."""
    turns = HangingTurns()
    serving = await serve(Serving(turns=turns))
    asking = asyncio.create_task(serving.ask(TURN, i={"text": ["x"]}))
    await turns.is_running.wait()
    asking.cancel()
    await turns.was_cancelled.wait()
    await serving.until_answered(1)
    assert serving.observer.finished == [("POST", "/graphql", 499)]  # type: ignore[attr-defined]


async def test_a_turn_past_the_time_limit_is_cancelled(serve: Serve) -> None:
    """A request holds its slot for a bounded time."""
    turns = HangingTurns()
    serving = await serve(Serving(turns=turns, settings=HttpSettings(port=0, request_timeout_seconds=0.2)))
    response = await serving.ask(TURN, i={"text": ["x"]})
    assert (response.status_code, response.json()["reason"]) == (504, "TIMED_OUT")
    assert turns.was_cancelled.is_set()


async def test_a_full_server_answers_503_and_probes_still_work(serve: Serve) -> None:
    """Excess is refused at once and told when to come back; health does not queue behind work."""
    turns = HangingTurns()
    serving = await serve(Serving(turns=turns, settings=HttpSettings(port=0, max_concurrent_requests=1)))
    asking = asyncio.create_task(serving.ask(TURN, i={"text": ["x"]}))
    await turns.is_running.wait()
    refused = await serving.ask("{ __typename }")
    assert (refused.status_code, refused.json()["reason"]) == (503, "TOO_MANY")
    assert refused.headers["retry-after"] == "1"
    assert (await serving.client.get("/livez")).status_code == 200
    asking.cancel()
    await turns.was_cancelled.wait()
    await serving.until_answered(3)
    assert (await serving.ask("{ __typename }")).status_code == 200


async def test_stopping_cancels_what_outlives_the_grace(serve: Serve) -> None:
    """The client gets an answer, not a reset, and nothing is left behind."""
    turns = HangingTurns()
    serving = await serve(Serving(turns=turns))
    asking = asyncio.create_task(serving.ask(TURN, i={"text": ["x"]}))
    await turns.is_running.wait()
    await serving.server.stop(0.1)
    assert turns.was_cancelled.is_set()
    response = await asking
    assert (response.status_code, response.json()["reason"]) == (503, "DRAINING")
    with pytest.raises(httpx.ConnectError):
        await serving.client.get("/livez")
