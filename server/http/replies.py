"""The bodies of this server's own answers."""

import json
from collections.abc import Mapping

from starlette.responses import JSONResponse, Response

MASKED = "something went wrong here; it has been noted"


def refusal(status: int, reason: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error as {"reason", "message"}; neither repeats what was sent."""
    return JSONResponse({"reason": reason, "message": message}, status_code=status, headers=headers)


def encode(value: object) -> bytes:
    """Return compact JSON in ASCII, so that a lone surrogate cannot break the response."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
