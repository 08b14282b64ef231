"""Policy takes a question and gives a verdict. It knows neither gRPC nor intake."""
