"""What stands in the contract's comments and in no generated code: keys of metadata, and sizes of chunks."""

ERROR_DOMAIN = "headworks"
"""Of `google.rpc.ErrorInfo`, in every error that is ours."""
DETAILS_KEY = "grpc-status-details-bin"
"""gRPC's key for a `google.rpc.Status` in trailing metadata."""
TURN_ID_KEY = "headworks-turn-id"
"""Trailing metadata that names the turn of any answer or error."""
MAX_TEXT_BYTES = 64 * 1024
"""Of `TextChunk.text` in UTF-8."""
MAX_CHUNK_BYTES = 1024 * 1024
"""Of `MediaChunk.data`."""
SERVICE_CLASS_KEY = "headworks-service-class"
"""Metadata that repeats `TurnSetup.service_class` as "batch", for a gateway that is too busy to read a setup."""
