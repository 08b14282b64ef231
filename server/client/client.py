"""A client of TurnService without protobuf in its signatures. Needs the base install only."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Self

import grpc
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status as StatusMessage
from grpc._cython import cygrpc  # type: ignore[attr-defined]  # for its InternalError, see _write

from headworks.server.client.contract import DETAILS_KEY, ERROR_DOMAIN, SERVICE_CLASS_KEY, TURN_ID_KEY
from headworks.server.client.messages import (
    UnknownReply,
    converse_chunk,
    event_from,
    normalize_chunk,
    normalized_reply,
    setup_message,
)
from headworks.server.flow.service_class import ServiceClass
from headworks.server.turn.steps import Chunk, Event, Normalized, Setup
from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import TurnServiceStub

_HEALTH = "/grpc.health.v1.Health/Check"
_SERVING_STATES = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}
_KEEPALIVE = [("grpc.keepalive_time_ms", 10_000), ("grpc.keepalive_timeout_ms", 5_000)]
"""A dead server is noticed within 15 s; the server allows a ping every 5 s."""
_OWN_CONNECTION = [("grpc.use_local_subchannel_pool", 1)]


class CallFailed(Exception):
    """A call that ended in an error.

    Args:
        code: The status's name ("PERMISSION_DENIED").
        reason: Of `google.rpc.ErrorInfo` in the domain "headworks"; "" where gRPC itself failed the call.
        message: For a person.
        metadata: Of `google.rpc.ErrorInfo`: the limit, the decision id.
        retry_after_seconds: Of `google.rpc.RetryInfo`; None where waiting does not help.
        turn_id: What to quote; "" when the call never reached a turn.
    """

    def __init__(
        self,
        code: str,
        reason: str,
        message: str,
        metadata: Mapping[str, str] | None = None,
        retry_after_seconds: float | None = None,
        turn_id: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.metadata = metadata or {}
        self.retry_after_seconds = retry_after_seconds
        self.turn_id = turn_id


class HeadworksClient:
    """One channel to one server. Use it as an async context manager, or close it."""

    def __init__(
        self,
        target: str,
        api_key: str | None = None,
        ca_file: Path | None = None,
        *,
        is_encrypted: bool = False,
        has_own_connection: bool = False,
    ) -> None:
        """Connect on the first call.

        Args:
            target: "host:port", or any other gRPC target.
            api_key: Sent as `authorization: Bearer <key>`.
            ca_file: PEM certificates to trust; TLS is on when it is given.
            is_encrypted: TLS with the certificates that gRPC trusts by default.
            has_own_connection: Never share one with another client of this process; a server bounds the calls at once
                on one connection, and gRPC lets what is above wait unseen.
        Raises:
            OSError: the file cannot be read.
        """
        options = _KEEPALIVE + _OWN_CONNECTION * has_own_connection
        if ca_file is not None or is_encrypted:
            roots = ca_file.read_bytes() if ca_file else None
            credentials = grpc.ssl_channel_credentials(roots)
            self._channel = grpc.aio.secure_channel(target, credentials, options=options)
        else:
            self._channel = grpc.aio.insecure_channel(target, options=options)
        self._stub: Any = TurnServiceStub(self._channel)
        self._metadata = (("authorization", f"Bearer {api_key}"),) if api_key else ()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End what still runs and let go of the connection."""
        await self._channel.close()

    def _metadata_of(self, setup: Setup) -> tuple[tuple[str, str], ...]:
        if setup.service_class is ServiceClass.INTERACTIVE:
            return self._metadata
        return (*self._metadata, (SERVICE_CLASS_KEY, setup.service_class.value))

    async def converse(
        self, setup: Setup, parts: AsyncGenerator[Chunk, None], timeout_seconds: float | None = None
    ) -> AsyncGenerator[Event, None]:
        """Run one turn: `parts` is sent while events are yielded. Closing the generator cancels the turn.

        Raises:
            CallFailed: the turn ended in an error.
            Exception: whatever `parts` raised; the turn is cancelled.
        """
        call = self._stub.Converse(metadata=self._metadata_of(setup), timeout=timeout_seconds)
        first = pb.ConverseRequest(setup=setup_message(setup))
        async with _sending(call, first, parts, converse_chunk) as check_sent:
            try:
                async for response in call:
                    yield event_from(response)
            except grpc.aio.AioRpcError as error:
                raise _failed(error) from error
            except asyncio.CancelledError:
                check_sent()
                raise
            except UnknownReply as error:
                raise _unknown(error) from error

    async def normalize(
        self, setup: Setup, parts: AsyncGenerator[Chunk, None], timeout_seconds: float | None = None
    ) -> Normalized:
        """Run intake alone.

        Raises:
            CallFailed: it ended in an error.
            Exception: whatever `parts` raised; the call is cancelled.
        """
        call = self._stub.Normalize(metadata=self._metadata_of(setup), timeout=timeout_seconds)
        first = pb.NormalizeRequest(setup=setup_message(setup))
        async with _sending(call, first, parts, normalize_chunk) as check_sent:
            try:
                return normalized_reply(await call)
            except grpc.aio.AioRpcError as error:
                raise _failed(error) from error
            except asyncio.CancelledError:
                check_sent()
                raise
            except UnknownReply as error:
                raise _unknown(error) from error

    async def health(self, timeout_seconds: float = 2.0) -> str:
        """Ask grpc.health.v1 and return "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN" or "UNKNOWN".

        The messages are read by hand (field 1 is the status), because the base install has no stubs for them.

        Raises:
            CallFailed: nobody answers, or no health service.
        """
        check: Any = self._channel.unary_unary(_HEALTH)
        try:
            reply: bytes = await check(b"", timeout=timeout_seconds, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            raise _failed(error) from error
        return _SERVING_STATES.get(reply[1] if reply[:1] == b"\x08" else 0, "UNKNOWN")


@asynccontextmanager
async def _sending(
    call: Any, first: Any, parts: AsyncGenerator[Chunk, None], message_of: Callable[[Chunk], Any]
) -> AsyncGenerator[Callable[[], None], None]:
    """Send setup and parts beside the body. At the end the call is cancelled if it still runs.

    Yields:
        Raises what `parts` raised, if it did: a call cancelled for that is the reader's to tell from its own end.
    """
    broken: list[Exception] = []

    async def send() -> None:
        try:
            await call.wait_for_connection()
            await _write(call, first)
            async with aclosing(parts):
                async for chunk in parts:
                    await _write(call, message_of(chunk))
            await _write(call, None)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            return  # the call is over; its reader is told how
        except Exception as error:  # noqa: BLE001  # raised again by check_sent, in the caller's task
            broken.append(error)
            call.cancel()

    def check_sent() -> None:
        if broken:
            raise broken[0]

    sender = asyncio.create_task(send())
    try:
        yield check_sent
    finally:
        sender.cancel()
        call.cancel()
        await asyncio.wait((sender,))


async def _write(call: Any, message: Any | None) -> None:
    """Send a message, or with None the end of them, so that the reader is told the server's own status.

    grpc.aio's `write` sets the status to INTERNAL, "Internal error from Core", when the server ends the call while the
    write waits for flow control (seen with grpcio 1.85.3), and a refused upload would read as a broken server.

    Raises:
        InvalidStateError: the call is over.
    """
    core = call._cython_call
    try:
        if message is None:
            await core.send_receive_close()
        else:
            await core.send_serialized_message(message.SerializeToString())
    except cygrpc.InternalError as error:
        raise asyncio.InvalidStateError("the call is over") from error


def _failed(error: grpc.aio.AioRpcError) -> CallFailed:
    trailing = dict(error.trailing_metadata() or ())
    status = StatusMessage()
    details = trailing.get(DETAILS_KEY, b"")
    if isinstance(details, bytes):
        status.MergeFromString(details)
    reason, metadata, retry_after = "", {}, None
    for packed in status.details:
        info, retry = ErrorInfo(), RetryInfo()
        if packed.Unpack(info) and info.domain == ERROR_DOMAIN:
            reason, metadata = info.reason, dict(info.metadata)
        elif packed.Unpack(retry):
            retry_after = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
    turn_id = str(trailing.get(TURN_ID_KEY, ""))
    return CallFailed(error.code().name, reason, error.details() or "", metadata, retry_after, turn_id)


def _unknown(error: UnknownReply) -> CallFailed:
    return CallFailed("UNIMPLEMENTED", "", f"{error}; use a client as new as the server")
