"""The active policy bundle, for OPA agents that poll it.

Source: OPA documentation, "Bundles", sections "Bundle Service API" and "Caching"; RFC 9110, section 13.1.2.
"""

from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from headworks.policy.bundles.active import PolicyInForce
from headworks.server.http.gate import Handler
from headworks.server.http.replies import refusal
from headworks.server.visit.visit import Visit


class BundleSource(Protocol):
    """Knows which policy is active."""

    def active(self) -> PolicyInForce | None:
        """Return the policy in force, already packed; None while there is none."""
        ...


def is_match(if_none_match: str, etag: str) -> bool:
    """Whether one of the tags names `etag`, compared weakly; `etag` comes with its quotes. Pure."""
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return "*" in tags or etag in tags


def bundle_handler(bundles: BundleSource) -> Handler:
    """Answer GET and HEAD /bundles/headworks.tar.gz."""

    async def handle(request: Request, body: bytes, visit: Visit) -> Response:
        policy = bundles.active()
        if policy is None:
            return refusal(503, "NOT_READY", "no policy is loaded", {"retry-after": "1"})
        bundle = policy.bundle
        headers = {"etag": bundle.etag, "cache-control": "private, no-cache"}
        if is_match(request.headers.get("if-none-match", ""), bundle.etag):
            return Response(status_code=304, headers=headers)
        return Response(bundle.content, media_type="application/gzip", headers=headers)

    return handle
