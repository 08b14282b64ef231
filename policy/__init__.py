"""A question in, a verdict out. Knows neither gRPC nor intake."""
