"""Around every turn call: a turn id and an identity before the first message is read, a status after the last."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import grpc

from headworks.policy.identity.caller import Identifier
from headworks.server.rpc.call import TURN_ID_KEY, Context, fail, visit_of
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
    """Identifies callers and is the one place where an exception becomes a status. Other services pass it by."""

    def __init__(self, service: str, identifier: Identifier, linger_seconds: float) -> None:
        """Guard one service.

        Args:
            service: Its full name ("headworks.v1.TurnService").
            linger_seconds: How long a failed call is still read, see `_linger`.
        """
        self._prefix = f"/{service}/"
        self._identifier = identifier
        self._linger_seconds = linger_seconds

    async def intercept_service(
        self, continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]], handler_call_details: Any
    ) -> Any:
        """See grpc.aio."""
        handler = await continuation(handler_call_details)
        if handler is None or not handler_call_details.method.startswith(self._prefix):
            return handler
        serialize = {
            "request_deserializer": handler.request_deserializer,
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
                current_call.set(Call(turn_id, visit_of(context, self._identifier)))
                return await behaviour(requests, context)
            except grpc.aio.AbortError:
                raise
            except Exception as error:  # noqa: BLE001  # the border: whatever comes is given a status
                await _linger(context, self._linger_seconds)
                await fail(context, error, turn_id)

        return run


async def _linger(context: Context, seconds: float) -> None:
    """Drop what the caller is still sending, for a moment, before the call ends with an error.

    A caller whose write meets an ended call may lose the status: grpc.aio's client then reports INTERNAL in its place.
    """
    try:
        async with asyncio.timeout(seconds):
            while await context.read() is not grpc.aio.EOF:
                pass
    except (TimeoutError, grpc.aio.UsageError, grpc.aio.BaseError):
        return
