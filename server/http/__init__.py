"""HTTP beside gRPC: GraphQL, the policy bundle, probes and metrics."""
