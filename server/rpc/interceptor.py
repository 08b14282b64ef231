"""The interceptor around every call: it decides what is known before the first message, and ends it with a status."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import grpc

from headworks.policy.identity.caller import Identifier
from headworks.server.client.contract import TURN_ID_KEY
from headworks.server.clock import Clock
from headworks.server.rpc.call import Context, check_metadata, end, visit_of
from headworks.server.rpc.reading import UNREADABLE, readable, refusing
from headworks.server.rpc.settings import RpcSettings
from headworks.server.turn.runner import new_turn_id
from headworks.server.visit.visit import Visit

Behaviour = Callable[[AsyncIterator[Any], Context], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Call:
    """What the interceptor found out about the call that runs."""

    turn_id: str
    visit: Visit


current_call: ContextVar[Call] = ContextVar("current_call")
"""Set for the length of each turn call."""


class TurnInterceptor(grpc.aio.ServerInterceptor):
    """Gives each turn call an id and a visit, and is the one place where an exception becomes a status.

    Calls of other services (health, reflection) need neither; what they send is only held to its form and size.
    """

    def __init__(self, service: str, identifier: Identifier, settings: RpcSettings, clock: Clock) -> None:
        """Guard one service.

        Args:
            service: Its full name ("headworks.v1.TurnService").
        """
        self._prefix = f"/{service}/"
        self._identifier = identifier
        self._settings = settings
        self._clock = clock
        self._handlers: dict[str, Any] = {}
        """One for each method that is served, made at its first call."""

    async def intercept_service(
        self, continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]], handler_call_details: Any
    ) -> Any:
        """See grpc.aio."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        method = handler_call_details.method
        if method not in self._handlers:
            self._handlers[method] = self._handler(handler, is_ours=method.startswith(self._prefix))
        return self._handlers[method]

    def _handler(self, handler: Any, *, is_ours: bool) -> Any:
        max_bytes = self._settings.max_message_bytes
        if not is_ours:
            return refusing(handler, max_bytes)
        serialize = {
            "request_deserializer": readable(handler.request_deserializer, max_bytes),
            "response_serializer": handler.response_serializer,
        }
        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(self._guarded(handler.stream_stream), **serialize)
        return grpc.stream_unary_rpc_method_handler(self._guarded(handler.stream_unary), **serialize)

    def _guarded(self, behaviour: Behaviour) -> Behaviour:
        async def run(requests: AsyncIterator[Any], context: Context) -> Any:
            turn_id = new_turn_id()
            context.set_trailing_metadata(((TURN_ID_KEY, turn_id),))
            try:
                check_metadata(context, self._settings.max_metadata_bytes)
                current_call.set(Call(turn_id, await visit_of(context, self._identifier)))
                return await behaviour(requests, context)
            except grpc.aio.AbortError:
                raise
            except Exception as error:  # noqa: BLE001  # the border: whatever comes is given a status
                await _linger(context, self._settings.linger_seconds, self._clock)
                end(context, error, turn_id)
                return None

        return run


async def _linger(context: Context, seconds: float, clock: Clock) -> None:
    """Drop what the caller is still sending, for a moment, before the call ends with an error.

    A caller whose write meets an ended call may lose the status: grpc.aio's client then reports INTERNAL in its place.
    What comes now cannot change the error, so it need not be readable.
    """
    try:
        async with clock.timeout(seconds):
            while await _next(context) is not grpc.aio.EOF:
                pass
    except (TimeoutError, grpc.aio.UsageError, grpc.aio.BaseError):
        return


async def _next(context: Context) -> Any:
    try:
        return await context.read()
    except UNREADABLE:
        return None
