"""gRPC: the only place that knows protobuf."""
