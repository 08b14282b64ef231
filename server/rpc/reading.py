"""How a message is read off the wire: what cannot be read is refused like any other mistake of a caller."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from headworks.intake.errors import TooLarge
from headworks.server.rpc.call import Context, fail
from headworks.server.turn.errors import BadRequest

Deserializer = Callable[[bytes], Any]
UNREADABLE = (BadRequest, TooLarge)
"""What a deserializer of `readable` raises."""


def readable(deserialize: Deserializer, max_bytes: int) -> Deserializer:
    """Return a deserializer whose errors have a status.

    Raises (the deserializer):
        TooLarge: the message is over `rpc.max_message_bytes`.
        BadRequest: the bytes are not such a message: broken, cut short, nested too deep, or text that is not UTF-8.
    """
    name = deserialize.__self__.DESCRIPTOR.name  # type: ignore[attr-defined]  # a message class's own FromString

    def read(data: bytes) -> Any:
        if len(data) > max_bytes:
            raise TooLarge("rpc.max_message_bytes", max_bytes, len(data))
        try:
            return deserialize(data)
        except DecodeError:
            raise BadRequest(f"a message that is not a {name}") from None

    return read


def refusing(handler: Any, max_bytes: int) -> Any:
    """Return a handler of a service that is not ours, which refuses what it cannot read as our own services do.

    gRPC would log a stack for each such message, and answer with the text of the exception.
    """
    read, serialize = readable(handler.request_deserializer, max_bytes), handler.response_serializer
    if handler.request_streaming:
        streaming = _each_read(handler.stream_stream, read)
        return grpc.stream_stream_rpc_method_handler(streaming, response_serializer=serialize)
    if handler.response_streaming:
        watching = _one_read(handler.unary_stream, read)
        return grpc.unary_stream_rpc_method_handler(watching, response_serializer=serialize)
    checking = _one_read(handler.unary_unary, read)
    return grpc.unary_unary_rpc_method_handler(checking, response_serializer=serialize)


def _one_read(behaviour: Callable[[Any, Context], Awaitable[Any]], read: Deserializer) -> Any:
    async def run(data: bytes, context: Context) -> Any:
        try:
            request = read(data)
        except UNREADABLE as error:
            await fail(context, error)
        return await behaviour(request, context)

    return run


def _each_read(behaviour: Callable[[AsyncIterator[Any], Context], AsyncIterator[Any]], read: Deserializer) -> Any:
    async def run(messages: AsyncIterator[bytes], context: Context) -> AsyncGenerator[Any, None]:
        requests = (read(data) async for data in messages)
        try:
            async for response in behaviour(requests, context):
                yield response
        except UNREADABLE as error:
            await fail(context, error)

    return run
