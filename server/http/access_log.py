"""An observer that writes one JSON line per request, for when nothing else watches."""

import json
import logging

from headworks.graphql.observer import ResolverFault

LOGGER = "headworks.http"


class AccessLog:
    """Writes requests and faults to the log: ids, codes and durations only. It is a `GraphqlObserver` as well."""

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger(LOGGER)

    def request_finished(self, method: str, route: str, status: int, milliseconds: float) -> None:
        """See `HttpObserver`."""
        self._write(
            logging.INFO, "http.request", method=method, route=route, status=status, milliseconds=round(milliseconds, 3)
        )

    def request_failed(self, error_type: str, stack: tuple[str, ...]) -> None:
        """See `HttpObserver`."""
        self._write(logging.ERROR, "http.failed", error_type=error_type, stack=stack)

    def resolver_failed(self, fault: ResolverFault) -> None:
        """See `GraphqlObserver`."""
        self._write(logging.ERROR, "graphql.failed", error_type=fault.error_type, stack=fault.stack)

    def _write(self, level: int, event: str, **facts: object) -> None:
        self._logger.log(level, "%s", json.dumps({"event": event, **facts}, separators=(",", ":")))
