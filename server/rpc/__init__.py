"""The gRPC side of the gateway; what comes out of here is no protobuf any more."""
