"""The gateway: a turn from its first step to its last event."""
