"""A real HTTP server on a free port, over fakes."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry

from headworks.graphql.execution import Graph
from headworks.graphql.observer import GraphqlObserver
from headworks.graphql.ports.turns import Turns
from headworks.graphql.settings import GraphqlSettings
from headworks.policy.bundles.active import PolicyInForce
from headworks.policy.bundles.bundle import Bundle
from headworks.policy.bundles.sources import PolicySources
from headworks.policy.identity.api_keys import digest_of
from headworks.policy.identity.credentials import CredentialIdentifier
from headworks.policy.identity.settings import ApiKey, CredentialSettings
from headworks.server.clock import Clock, SystemClock
from headworks.server.http.app import HttpParts, build_app
from headworks.server.http.bundle_route import BundleSource
from headworks.server.http.front import HttpObserver
from headworks.server.http.server import HttpServer
from headworks.server.http.settings import HttpSettings
from headworks.server.visit.visit import Visit
from tests.fakes.graph import AnsweringTurns, OwnedTables, RecordingGraphqlObserver
from tests.fakes.http import HeldPolicy, RecordingHttpObserver, SwitchedReadiness

ADA_KEY = "ada-0123456789abcdef0123456789abcdef"
BOB_KEY = "bob-0123456789abcdef0123456789abcdef"
BUNDLE = Bundle(content=b"\x1f\x8b not really gzip", etag='"abc"', revision="r1")
SINCE = datetime(2026, 1, 1, tzinfo=UTC)


def held(bundle: Bundle) -> HeldPolicy:
    """A policy in force that is this bundle."""
    return HeldPolicy(PolicyInForce(PolicySources(()), bundle, SINCE))


@dataclass
class Serving:
    """What a test may choose, and after `start` what it may look at."""

    settings: HttpSettings = field(default_factory=lambda: HttpSettings(port=0))
    graphql: GraphqlSettings = field(default_factory=GraphqlSettings)
    turns: Turns = field(default_factory=AnsweringTurns)
    bundles: BundleSource = field(default_factory=lambda: held(BUNDLE))
    readiness: SwitchedReadiness = field(default_factory=SwitchedReadiness)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    observer: HttpObserver = field(default_factory=RecordingHttpObserver)
    graphql_observer: GraphqlObserver = field(default_factory=RecordingGraphqlObserver)
    clock: Clock = field(default_factory=SystemClock)
    allow_loopback: bool = False
    tls: ssl.SSLContext | None = None
    visits: list[Visit] = field(default_factory=list)
    server: HttpServer = field(init=False)
    client: httpx.AsyncClient = field(init=False)

    async def start(self, exits: AsyncExitStack) -> "Serving":
        keys = (ApiKey(digest_of(ADA_KEY), "acme", "ada"), ApiKey(digest_of(BOB_KEY), "globex", "bob"))
        parts = HttpParts(
            graph=Graph(self.graphql, OwnedTables(), self.graphql_observer),
            turns_of=self._turns_of,
            bundles=self.bundles,
            readiness=self.readiness,
            registry=self.registry,
            identifier=CredentialIdentifier(
                CredentialSettings(keys=keys, allow_loopback=self.allow_loopback, loopback_tenant="acme")
            ),
            observer=self.observer,
            clock=self.clock,
        )
        self.server = HttpServer(self.settings, build_app(self.settings, parts), self.tls)
        await self.server.start()
        exits.push_async_callback(self.server.stop, 1.0)
        headers = {"authorization": f"Bearer {ADA_KEY}"}
        self.client = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{self.server.port}", headers=headers, trust_env=False, timeout=20
        )
        await exits.enter_async_context(self.client)
        return self

    def _turns_of(self, visit: Visit) -> Turns:
        self.visits.append(visit)
        return self.turns

    async def ask(self, query: str, **variables: Any) -> httpx.Response:
        return await self.client.post("/graphql", json={"query": query, "variables": variables})

    async def until_answered(self, requests: int) -> None:
        """Wait until the observer knows of so many requests."""
        assert isinstance(self.observer, RecordingHttpObserver)
        await self.observer.until_finished(requests)


Serve = Callable[[Serving], Coroutine[Any, Any, Serving]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start servers; when the test ends they are stopped, and no task may be left."""
    before = asyncio.all_tasks()
    async with AsyncExitStack() as exits:

        async def start(serving: Serving) -> Serving:
            return await serving.start(exits)

        yield start
    await asyncio.sleep(0)
    left = {task for task in asyncio.all_tasks() - before - {asyncio.current_task()} if not task.done()}
    assert not left


async def raw(serving: Serving, sent: bytes) -> bytes:
    """Send bytes over a socket of their own, and return all that comes back until it closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", serving.server.port)
    writer.write(sent)
    await writer.drain()
    received = await reader.read()
    writer.close()
    await writer.wait_closed()
    return received
