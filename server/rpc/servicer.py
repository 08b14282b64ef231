"""TurnService: messages in, steps to the turn; events from the turn, messages out."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import grpc

from headworks.intake.span import Modality
from headworks.server.client.contract import SERVICE_CLASS_KEY
from headworks.server.clock import Clock
from headworks.server.flow.service_class import ServiceClass
from headworks.server.rpc.call import Context
from headworks.server.rpc.interceptor import current_call
from headworks.server.rpc.requests import step_from
from headworks.server.rpc.responses import normalized_from, response_from
from headworks.server.turn.errors import TurnTimedOut
from headworks.server.turn.runner import TurnRunner
from headworks.server.turn.steps import Chunk, EndOfInput, Event, Step
from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import TurnServiceServicer

_CANCEL_LAG_SECONDS = 0.2
"""How much later than the end of its messages gRPC may report a cancel, on a loop that many cancels keep busy."""


class TurnService(TurnServiceServicer):
    """Knows the wire and nothing of what a turn does."""

    def __init__(self, runner: TurnRunner, send_seconds: float, clock: Clock) -> None:
        """Serve turns.

        Args:
            send_seconds: How long a message may wait for a caller that does not read.
        """
        self._runner = runner
        self._send_seconds = send_seconds
        self._clock = clock

    async def Converse(  # type: ignore[override]  # noqa: N802  # the reader-writer form; the stub knows only generators
        self, request_iterator: AsyncIterator[pb.ConverseRequest], context: Context
    ) -> None:
        call = current_call.get()
        self._runner.knock(call.visit, _service_class(context), context.time_remaining())
        sender = _Sender(context, self._send_seconds, self._clock)
        async with aclosing(_steps(request_iterator, context)) as steps:
            await self._runner.converse(
                call.visit, steps, sender.send, turn_id=call.turn_id, deadline_seconds=context.time_remaining()
            )

    async def Normalize(  # noqa: N802
        self, request_iterator: AsyncIterator[pb.NormalizeRequest], context: Context
    ) -> pb.NormalizeResponse:
        call = current_call.get()
        self._runner.knock(call.visit, _service_class(context), context.time_remaining())
        async with aclosing(_steps(request_iterator, context)) as steps:
            normalized = await self._runner.normalize(
                call.visit, steps, turn_id=call.turn_id, deadline_seconds=context.time_remaining()
            )
        return normalized_from(normalized)


def _service_class(context: Context) -> ServiceClass:
    """Return the class that the call's metadata names, before its setup is read."""
    is_batch = (SERVICE_CLASS_KEY, ServiceClass.BATCH.value) in (context.invocation_metadata() or ())
    return ServiceClass.BATCH if is_batch else ServiceClass.INTERACTIVE


async def _steps(
    requests: AsyncIterator[pb.ConverseRequest] | AsyncIterator[pb.NormalizeRequest], context: Context
) -> AsyncGenerator[Step, None]:
    """Translate messages. gRPC ends the iterator of a cancelled call as it ends a whole one; these are told apart.

    A cancel ends the task that reads the steps, only later than the messages. Input that looks whole may go on until
    then; what stops short would be called an error of a caller who has left, so it waits for the cancel.
    """
    open_parts: set[Modality] = set()
    is_ended = has_input = False
    async for request in requests:
        step = step_from(request)
        match step:
            case Chunk():
                has_input = True
                (open_parts.discard if step.is_last else open_parts.add)(step.modality)
            case EndOfInput():
                is_ended = True
        yield step
    if not is_ended and (open_parts or not has_input):
        await asyncio.sleep(_CANCEL_LAG_SECONDS)
    if context.cancelled():
        raise asyncio.CancelledError


class _Sender:
    """Numbers messages and writes them one after the other."""

    def __init__(self, context: Context, seconds: float, clock: Clock) -> None:
        self._context = context
        self._seconds = seconds
        self._clock = clock
        self._sequence = 0
        self._writing = asyncio.Lock()

    async def send(self, event: Event) -> None:
        """Write one event.

        Raises:
            TurnTimedOut: the caller did not read for too long.
            CancelledError: the call is over. A write that was under way when its caller left fails before gRPC reports
                the cancel, and that is no error of ours.
        """
        response = response_from(event)
        if response is None:
            return
        async with self._writing:
            self._sequence += 1
            response.sequence = self._sequence
            try:
                async with self._clock.timeout(self._seconds):
                    await self._context.write(response)
            except TimeoutError as error:
                raise TurnTimedOut("rpc.send_seconds") from error
            except grpc.aio.InternalError:
                raise asyncio.CancelledError from None
