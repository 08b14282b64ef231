"""How a client speaks to a server under test: bytes out, and what is read of the bytes that come back."""

from typing import Protocol

from bench.turn import request_bytes
from headworks.v1 import turn_pb2 as pb


class Wire(Protocol):
    """One contract."""

    method: str

    def requests(self, tokens: int) -> tuple[bytes, ...]:
        """Return the messages that ask for an answer of so many tokens."""

    def read(self, reply: bytes) -> tuple[int, int]:
        """Return how many tokens a message carries, and how many bytes of text."""


class Converse:
    """Ours."""

    method = "/headworks.v1.TurnService/Converse"

    def requests(self, tokens: int) -> tuple[bytes, ...]:
        return request_bytes(tokens)

    def read(self, reply: bytes) -> tuple[int, int]:
        delta = pb.ConverseResponse.FromString(reply).delta
        return len(delta.token_ids), len(delta.text.encode())
