"""SMG's gRPC servicer for vLLM, as a peer; it is left out where `smg-grpc-servicer` is not installed."""
