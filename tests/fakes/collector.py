"""An OTLP collector: a real gRPC server of the protocol's own service, which keeps what it is sent."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector(TraceServiceServicer):
    """Takes traces; its server runs in threads, because exporters block theirs."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        self.endpoint = ""

    def Export(self, request: ExportTraceServiceRequest, context: Any) -> ExportTraceServiceResponse:  # noqa: N802
        self.requests.append(request)
        return ExportTraceServiceResponse()

    @property
    def spans(self) -> list[Span]:
        """All spans so far, in the order in which they came."""
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def resources(self) -> set[tuple[str, str]]:
        """Attributes of everything that sent spans."""
        sent = (resource.resource for request in self.requests for resource in request.resource_spans)
        return {(pair.key, pair.value.string_value) for resource in sent for pair in resource.attributes}


def attributes_of(span: Span) -> dict[str, str | float]:
    """Name to value; text or numbers, which is all that we send."""
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in span.attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """Run one on a free port."""
    collector = Collector()
    server = grpc.server(ThreadPoolExecutor(2))
    add_TraceServiceServicer_to_server(collector, server)
    collector.endpoint = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield collector
    finally:
        server.stop(0).wait()
