"""One gRPC call: who makes it, over what, and how an error leaves it."""

import logging
import ssl
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status as StatusMessage

from headworks.intake.errors import TooLarge
from headworks.policy.identity.caller import Identifier
from headworks.server.client.contract import DETAILS_KEY, ERROR_DOMAIN, TURN_ID_KEY
from headworks.server.status import Status, internal_status, status_of
from headworks.server.visit.visit import Visit, visit_from

_log = logging.getLogger("headworks.rpc")

Context = grpc.aio.ServicerContext[Any, Any]


_ENTRY_BYTES = 32
"""What HTTP/2 counts for an entry beside its name and value (RFC 9113, section 6.5.2)."""


def check_metadata(context: Context, max_bytes: int) -> None:
    """Hold a call's metadata to `rpc.max_metadata_bytes`.

    Raises:
        TooLarge: it sent more.
    """
    size = sum(len(key) + len(value) + _ENTRY_BYTES for key, value in context.invocation_metadata() or ())
    if size > max_bytes:
        raise TooLarge("rpc.max_metadata_bytes", max_bytes, size)


async def visit_of(context: Context, identifier: Identifier) -> Visit:
    """Say who calls, before any message is read.

    Raises:
        UnknownCaller: no credentials, or none that are valid.
        IssuerUnavailable: whether they are valid cannot be found out now.
    """
    pairs, transport = context.invocation_metadata() or (), context.auth_context()
    return await visit_from(
        identifier,
        ((key, value) for key, value in pairs if isinstance(value, str)),
        host=host_of(context.peer()),
        has_tls=transport.get("transport_security_type") == [b"ssl"],
        certificate=_der(transport),
    )


def _der(transport: Mapping[str, Iterable[bytes]]) -> bytes | None:
    """Return the client's certificate; None when it was not asked for one."""
    for pem in transport.get("x509_pem_cert", ()):
        return ssl.PEM_cert_to_DER_cert(pem.decode("ascii"))
    return None


def host_of(peer: str) -> str:
    """Return the host in gRPC's name of a peer: "ipv4:127.0.0.1:5000", "ipv6:%5B::1%5D:5000", "unix:/run/socket".

    Whoever opens a Unix socket is on this machine. A name of another kind has no host that we could read: "".
    """
    kind, _, rest = peer.partition(":")
    if kind == "unix":
        return "localhost"
    if kind not in ("ipv4", "ipv6"):
        return ""
    return rest.rpartition(":")[0].replace("%5B", "").replace("%5D", "").replace("%25", "%").strip("[]")


def end(context: Context, error: Exception, turn_id: str = "") -> None:
    """Give the call the error's status and its rich details, with which it ends once its handler returns.

    `abort` of grpc.aio ends it by an exception that the call keeps, and that holds the call in turn: it then stays in
    memory until Python's collector finds it, which stops the event loop for some tenths of a second under load.

    An error that nobody expected is logged by type and stack, without its message, which may hold user data.
    """
    status = _logged(error, turn_id)
    context.set_code(status.code)
    context.set_details(status.message)
    context.set_trailing_metadata(_trailing(status, turn_id))


async def fail(context: Context, error: Exception, turn_id: str = "") -> None:
    """End the call as `end` does, but at once; never returns. For handlers that have no way to end by themselves."""
    status = _logged(error, turn_id)
    await context.abort(status.code, status.message, trailing_metadata=_trailing(status, turn_id))


def _logged(error: Exception, turn_id: str) -> Status:
    status = status_of(error)
    if status is None:
        status = internal_status()
        stack = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
        _log.error("call.failed", extra={"turn_id": turn_id, "error": type(error).__name__, "stack": stack})
    return status


def _trailing(status: Status, turn_id: str) -> tuple[tuple[str, str | bytes], ...]:
    details = ((DETAILS_KEY, _details(status)),)
    return (*details, (TURN_ID_KEY, turn_id)) if turn_id else details


def _details(status: Status) -> bytes:
    message = StatusMessage(code=status.code.value[0], message=status.message)
    info = ErrorInfo(reason=status.reason, domain=ERROR_DOMAIN, metadata=status.metadata)
    message.details.append(_packed(info))
    if status.retry_after_seconds is not None:
        seconds, rest = divmod(status.retry_after_seconds, 1)
        delay = Duration(seconds=int(seconds), nanos=int(rest * 1e9))
        message.details.append(_packed(RetryInfo(retry_delay=delay)))
    encoded: bytes = message.SerializeToString()
    return encoded


def _packed(message: ErrorInfo | RetryInfo) -> AnyMessage:
    url = f"type.googleapis.com/{message.DESCRIPTOR.full_name}"
    return AnyMessage(type_url=url, value=message.SerializeToString())
