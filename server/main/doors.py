"""The doors: gRPC and HTTP, both open before the rest is ready, and saying so."""

from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

from prometheus_client import CollectorRegistry

from headworks.graphql.execution import Graph
from headworks.policy.bundles.active import ActivePolicy
from headworks.policy.identity.credentials import CredentialIdentifier
from headworks.server.clock import Clock
from headworks.server.graph.tables import StoredTables
from headworks.server.graph.turns import RunnerTurns
from headworks.server.http.access_log import AccessLog
from headworks.server.http.app import HttpParts, build_app
from headworks.server.http.server import HttpServer
from headworks.server.main.turns import TurnParts
from headworks.server.readiness import Readiness
from headworks.server.rpc.server import RpcServer
from headworks.server.settings import Settings


@dataclass(frozen=True, slots=True)
class Doors:
    """Both servers, listening."""

    rpc: RpcServer
    http: HttpServer


async def open_doors(
    settings: Settings,
    turns: TurnParts,
    policies: ActivePolicy,
    readiness: Readiness,
    registry: CollectorRegistry,
    clock: Clock,
    parts: AsyncExitStack,
) -> Doors:
    """Listen on both ports; health and readiness say no until the rest is up.

    Args:
        parts: Stops both at the end.
    Raises:
        OSError: an address cannot be taken, or a certificate cannot be used.
    """
    identifier, access_log = CredentialIdentifier(settings.policy.credentials), AccessLog()
    tables = StoredTables(turns.intake.tables, turns.intake.table_pool)
    graph = Graph(settings.graphql, tables, access_log)
    turns_of = partial(RunnerTurns, turns.runner)
    served = HttpParts(graph, turns_of, policies, readiness, registry, identifier, access_log, clock)
    http = HttpServer(settings.http, build_app(settings.http, served))
    await http.start()
    parts.push_async_callback(http.stop, settings.drain.grace_seconds)
    rpc = RpcServer(settings.rpc, turns.runner, identifier, clock)
    await rpc.start()
    parts.push_async_callback(rpc.stop, 0)
    return Doors(rpc, http)
