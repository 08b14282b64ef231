"""Peers and tenants that want everything: slow bodies, unread answers, many connections, many requests at once."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.policy.bundles.bundle import Bundle
from headworks.server.http.settings import HttpSettings
from headworks.server.http.share import Bound, Full, Share
from tests.fakes.clocks import HandClock
from tests.fakes.graph import HangingTurns
from tests.server.http.conftest import ADA_KEY, BOB_KEY, Serve, Serving, held
from tests.server.rpc.watching import until

BUNDLE_PATH = "/bundles/headworks.tar.gz"
TURN = "mutation T($i: TurnInput!) { turn(input: $i) { __typename } }"
HERE, THERE = "127.0.0.1", "127.0.0.2"
"""Two hosts, as far as a server on loopback can tell."""
LARGE = Bundle(content=bytes(32 << 20), etag='"large"', revision="r2")
"""More than the kernel takes for a peer that reads nothing."""


class Connection:
    """A connection that is written and read by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def post(self, body: bytes, length: int, key: str = ADA_KEY) -> None:
        """Send a request of which only the beginning of the body comes."""
        head = f"POST /graphql HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-length: {length}\r\n\r\n"
        self.writer.write(head.encode() + body)

    def get(self, path: str, *headers: str) -> None:
        lines = (f"GET {path} HTTP/1.1", "host: x", f"authorization: Bearer {ADA_KEY}", *headers)
        self.writer.write("\r\n".join((*lines, "", "")).encode())

    async def status(self) -> int:
        return int((await self.reader.readline()).split()[1])


@asynccontextmanager
async def connected(serving: Serving, host: str = HERE) -> AsyncIterator[Connection]:
    """Connect from a host, with a small buffer for what comes."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    client.setblocking(False)
    client.bind((host, 0))
    await asyncio.get_running_loop().sock_connect(client, (HERE, serving.server.port))
    connection = Connection(*await asyncio.open_connection(sock=client))
    try:
        yield connection
    finally:
        connection.writer.transport.abort()


async def sent_in_part(exits: AsyncExitStack, serving: Serving, body: bytes, key: str, host: str = HERE) -> Connection:
    connection = await exits.enter_async_context(connected(serving, host))
    connection.post(body, 1_000, key)
    return connection


async def status_of_livez(serving: Serving, host: str = HERE) -> int:
    async with connected(serving, host) as connection:
        connection.get("/livez")
        return await connection.status()


async def test_many_slow_bodies_keep_nobody_waiting(serve: Serve) -> None:
    """As many as there are places for requests, of one byte each: they took all places for two minutes."""
    clock = HandClock()
    serving = await serve(Serving(clock=clock))
    async with AsyncExitStack() as exits:
        slow = [await sent_in_part(exits, serving, b"{", ADA_KEY) for _ in range(64)]
        await until(lambda: clock.limits == 64)
        assert (await serving.ask("{ __typename }")).status_code == 200
        assert (await serving.client.get("/readyz")).status_code == 200
        clock.turn(serving.settings.body_timeout_seconds)
        assert {await each.status() for each in slow} == {408}


async def test_a_slow_body_ends_its_own_connection(serve: Serve) -> None:
    """The limit is named; what would still come is not read."""
    clock = HandClock()
    serving = await serve(Serving(clock=clock))
    async with connected(serving) as slow:
        slow.post(b"{", 1_000)
        await until(lambda: clock.limits == 1)
        clock.turn(serving.settings.body_timeout_seconds)
        answer = (await slow.reader.read()).decode()
    assert answer.startswith("HTTP/1.1 408 ")
    assert "connection: close" in answer
    assert "http.body_timeout_seconds allows 10" in answer


ADA_HERE, BOB_THERE = (ADA_KEY, HERE), (BOB_KEY, THERE)


@pytest.mark.parametrize(
    ("holders", "own", "key", "host", "status", "setting"),
    [
        ([ADA_HERE], 110, ADA_KEY, HERE, 429, "http.max_own_body_bytes"),
        ([ADA_HERE], 110, ADA_KEY, THERE, 429, "http.max_own_body_bytes"),
        ([ADA_HERE], 110, BOB_KEY, HERE, 429, "http.max_own_body_bytes"),
        ([ADA_HERE], 110, BOB_KEY, THERE, 200, ""),
        ([ADA_HERE, BOB_THERE], 200, BOB_KEY, THERE, 503, "http.max_held_body_bytes"),
    ],
    ids=["same", "same tenant", "same host", "somebody else", "all together"],
)
async def test_nobody_holds_all_bytes_of_bodies(
    serve: Serve, holders: list[tuple[str, str]], own: int, key: str, host: str, status: int, setting: str
) -> None:
    """A tenant may call from many hosts, and a host for many tenants; neither gets more by that."""
    clock, whole = HandClock(), b'{"query": "{ __typename }"}'
    limits = HttpSettings(port=0, max_held_body_bytes=210, max_own_body_bytes=own)
    serving = await serve(Serving(clock=clock, settings=limits))
    async with AsyncExitStack() as exits:
        for number, (holder, there) in enumerate(holders, 1):
            await sent_in_part(exits, serving, b"x" * 100, holder, there)
            await until(lambda count=number: clock.limits == count)  # type: ignore[misc]
        transport = httpx.AsyncHTTPTransport(local_address=host)
        base, headers = f"http://{HERE}:{serving.server.port}", {"authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=base, headers=headers, transport=transport) as client:
            json = {"content-type": "application/json"}
            response = await client.post("/graphql", content=whole, headers=json)
        assert response.status_code == status
        assert setting in response.text
        assert status == 200 or response.headers["retry-after"] == "1"


async def test_a_tenant_leaves_places_for_others(serve: Serve) -> None:
    """With one slow turn after the other a tenant could else keep everybody out."""
    turns = HangingTurns()
    serving = await serve(
        Serving(turns=turns, settings=HttpSettings(port=0, max_concurrent_requests=2, max_tenant_requests=1))
    )
    asking = asyncio.create_task(serving.ask(TURN, i={"text": ["x"]}))
    await turns.is_running.wait()
    refused = await serving.ask("{ __typename }")
    assert (refused.status_code, refused.json()["reason"]) == (429, "TOO_MANY")
    assert "http.max_tenant_requests allows 1" in refused.json()["message"]
    assert refused.headers["retry-after"] == "1"
    serving.client.headers["authorization"] = f"Bearer {BOB_KEY}"
    assert (await serving.ask("{ __typename }")).status_code == 200
    asking.cancel()
    await turns.was_cancelled.wait()


async def test_a_host_leaves_connections_for_others(serve: Serve) -> None:
    """Idle ones count too; one that ended does not."""
    serving = await serve(Serving(settings=HttpSettings(port=0, max_connections=3, max_peer_connections=1)))
    async with connected(serving) as first:
        first.get("/livez")
        assert await first.status() == 200
        async with connected(serving) as second:
            answer = (await second.reader.read()).decode()
        assert answer.startswith("HTTP/1.1 429 ")
        assert "http.max_peer_connections allows 1" in answer
        assert await status_of_livez(serving, THERE) == 200
    await serving.until_answered(2)
    while await status_of_livez(serving) != 200:  # noqa: ASYNC110  # the server tells no one that a peer has gone
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("headers", [(), ("connection: close",)], ids=["kept", "closing"])
async def test_an_unread_answer_ends_its_own_connection(serve: Serve, headers: tuple[str, ...]) -> None:
    """And gives its place back; a connection that closes waits no longer for its reader than another."""
    limits = HttpSettings(port=0, max_concurrent_requests=1, answer_timeout_seconds=0.2)
    serving = await serve(Serving(bundles=held(LARGE), settings=limits))
    async with connected(serving) as slow:
        slow.get(BUNDLE_PATH, *headers)
        await serving.until_answered(1)
        assert (await serving.ask("{ __typename }")).status_code == 200
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await slow.reader.readexactly(len(LARGE.content))


async def test_unread_answers_one_after_the_other_end_their_connection(serve: Serve) -> None:
    """Small ones that add up: each was sent, none was read."""
    limits = HttpSettings(port=0, answer_timeout_seconds=0.2, keep_alive_seconds=600)
    serving = await serve(Serving(bundles=held(Bundle(bytes(60_000), '"small"', "r3")), settings=limits))
    async with connected(serving) as slow:
        with pytest.raises(ConnectionError):
            await _ask_without_end(slow)


async def _ask_without_end(connection: Connection) -> None:
    while True:
        connection.get(BUNDLE_PATH)
        await connection.writer.drain()
        await asyncio.sleep(0)


async def test_a_large_answer_comes_whole_to_a_reader_that_keeps_up(serve: Serve) -> None:
    """It is sent in pieces, without a byte more or less."""
    content = bytes(range(256)) * 4_099
    serving = await serve(Serving(bundles=held(Bundle(content, '"odd"', "r4"))))
    response = await serving.client.get(BUNDLE_PATH)
    assert response.content == content
    head = await serving.client.head(BUNDLE_PATH)
    assert (head.content, head.headers["content-length"]) == (b"", str(len(content)))


steps = st.lists(st.tuples(st.integers(0, 5), st.lists(st.sampled_from("abc"), unique=True, min_size=1)), max_size=30)


@given(steps, st.randoms(use_true_random=False))
def test_a_share_never_lets_more_out_than_it_has(asked: list[tuple[int, list[str]]], random: object) -> None:
    """Whatever is taken and given back in whatever order, and nothing is left when all is given back."""
    share, taken = Share(Bound("all", 9), Bound("own", 5)), []
    for amount, holders in asked:
        mine = {holder: sum(size for size, names in taken if holder in names) for holder in holders}
        fits = sum(size for size, _ in taken) + amount <= 9 and all(size + amount <= 5 for size in mine.values())
        try:
            share.take(amount, *holders)
        except Full:
            assert not fits
            if taken:
                size, names = taken.pop(random.randrange(len(taken)))  # type: ignore[attr-defined]
                share.give_back(size, *names)
        else:
            assert fits
            taken.append((amount, holders))
    for size, names in taken:
        share.give_back(size, *names)
    share.take(5, "a")
    share.take(4, "b")
