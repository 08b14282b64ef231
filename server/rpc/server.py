"""The gRPC server: options, services, health and drain."""

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from headworks.policy.identity.caller import Identifier
from headworks.server.clock import Clock
from headworks.server.rpc.acceptors import Acceptors
from headworks.server.rpc.interceptor import TurnInterceptor
from headworks.server.rpc.reflection import add_reflection
from headworks.server.rpc.servicer import TurnService
from headworks.server.rpc.settings import RpcSettings
from headworks.server.turn.runner import TurnRunner
from headworks.server.visit.address import with_port
from headworks.server.visit.tls import read_authorities, server_context
from headworks.v1 import turn_pb2
from headworks.v1.turn_pb2_grpc import add_TurnServiceServicer_to_server

_CORE_SLACK = 2
"""How many times our own limits on sizes gRPC's are; what is over those it refuses itself, without details."""
_FOREVER = 2**31 - 1
"""Milliseconds that gRPC takes for no limit in time."""
SERVICE_NAME: str = turn_pb2.DESCRIPTOR.services_by_name["TurnService"].full_name


class RpcServer:
    """TurnService, health and reflection on one port."""

    def __init__(self, settings: RpcSettings, runner: TurnRunner, identifier: Identifier, clock: Clock) -> None:
        self._settings = settings
        self._health = health.aio.HealthServicer()
        interceptors = [TurnInterceptor(SERVICE_NAME, identifier, settings, clock)]
        self._server = grpc.aio.server(interceptors=interceptors, options=core_options(settings))
        self._acceptors = Acceptors(self._server, interceptors, settings.max_accepts)
        service = TurnService(runner, settings.send_seconds, clock)
        add_TurnServiceServicer_to_server(service, self._acceptors)  # type: ignore[arg-type]  # it is registered there
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        add_reflection(self._server, (turn_pb2.DESCRIPTOR, health_pb2.DESCRIPTOR))
        self.port = 0
        """The bound port, once started."""

    async def start(self) -> None:
        """Listen; health says "not serving" until `set_serving`.

        Raises:
            OSError: the address cannot be taken, or the certificate cannot be used.
        """
        await self.set_serving(False)
        address = with_port(self._settings.host, self._settings.port)
        try:
            self.port = self._bind(address)
        except RuntimeError as error:
            raise OSError(f"{address} cannot be taken") from error
        await self._server.start()
        self._acceptors.start()

    async def set_serving(self, is_serving: bool) -> None:
        """Say so to everyone who checks or watches health, for the server as a whole and for TurnService."""
        status = health_pb2.HealthCheckResponse.SERVING if is_serving else health_pb2.HealthCheckResponse.NOT_SERVING
        for service in ("", SERVICE_NAME):
            await self._health.set(service, status)

    async def stop(self, grace_seconds: float) -> None:
        """Take no new call, let the running ones end for so long, then cut them."""
        await self._server.stop(grace_seconds)
        await self._acceptors.ended()

    def _bind(self, address: str) -> int:
        settings = self._settings
        if settings.certificate_file is None or settings.certificate_key_file is None:
            return self._server.add_insecure_port(address)
        server_context(settings.certificate_file, settings.certificate_key_file)  # gRPC would only say: cannot bind
        pair = (settings.certificate_key_file.read_bytes(), settings.certificate_file.read_bytes())
        authorities = None if settings.client_ca_file is None else read_authorities(settings.client_ca_file)
        credentials = grpc.ssl_server_credentials([pair], authorities, require_client_auth=authorities is not None)
        return self._server.add_secure_port(address, credentials)


def core_options(settings: RpcSettings) -> list[tuple[str, int]]:
    """Return what gRPC's core is told.

    Source: grpc/impl/channel_arg_names.h.
    """
    return [
        ("grpc.so_reuseport", 0),
        # Up to its own limits gRPC hands over what is too large, so that our refusal can name the setting.
        ("grpc.max_receive_message_length", _CORE_SLACK * settings.max_message_bytes),
        # One value for both: between a soft and a hard limit gRPC refuses calls by chance (grpc/grpc#37852).
        ("grpc.max_metadata_size", _CORE_SLACK * settings.max_metadata_bytes),
        ("grpc.absolute_max_metadata_size", _CORE_SLACK * settings.max_metadata_bytes),
        ("grpc.server.max_pending_requests", settings.max_pending_calls),
        ("grpc.server.max_pending_requests_hard_limit", settings.max_pending_calls),
        *_connection_options(settings),
    ]


def _connection_options(settings: RpcSettings) -> list[tuple[str, int]]:
    age = settings.connection_age_seconds
    return [
        ("grpc.max_allowed_incoming_connections", settings.max_connections),
        ("grpc.max_concurrent_streams", settings.max_connection_streams),
        ("grpc.server_handshake_timeout_ms", _milliseconds(settings.handshake_seconds)),
        ("grpc.max_connection_idle_ms", _milliseconds(settings.connection_idle_seconds)),
        ("grpc.max_connection_age_ms", _FOREVER if age is None else _milliseconds(age)),
        ("grpc.max_connection_age_grace_ms", _milliseconds(settings.connection_age_grace_seconds)),
        ("grpc.keepalive_time_ms", _milliseconds(settings.keepalive_seconds)),
        ("grpc.keepalive_timeout_ms", _milliseconds(settings.keepalive_timeout_seconds)),
        # A peer that is frozen, not gone, is only given up after this one; its default is a minute.
        ("grpc.http2.ping_timeout_ms", _milliseconds(settings.keepalive_timeout_seconds)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", _milliseconds(settings.min_client_ping_seconds)),
    ]


def _milliseconds(seconds: float) -> int:
    """Return a time as gRPC takes it: 1 at least, because 0 would turn some limits off, and `_FOREVER` at most."""
    return int(min(max(seconds * 1000, 1), _FOREVER))
