"""One turn as a client runs it, and what the client sees of it."""

import time
from dataclasses import dataclass, field

import numpy as np

from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import TurnServiceStub

QUESTION = "How many orders did we ship in March? Please answer in one short paragraph, with the number first."
MOST_TOKENS = 2048
TURN_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Timing:
    """The timing model that all servers follow, and the length of an answer."""

    first_token_seconds: float
    gap_seconds: float
    tokens: int

    @property
    def seconds(self) -> float:
        """How long one undisturbed turn takes."""
        return self.first_token_seconds + self.gap_seconds * (self.tokens - 1)


@dataclass(slots=True)
class Sample:
    """What a client saw of some turns."""

    first: list[float] = field(default_factory=list)
    """Seconds from the call to the first token, one per turn."""
    gaps: list[float] = field(default_factory=list)
    """Seconds between tokens; tokens that come in one message have none between them."""
    tokens: int = 0
    failed: int = 0
    """Turns that ended with an error."""

    def gaps_between_messages(self) -> list[float]:
        """Return the gaps without the zeros of tokens that came in one message."""
        return [gap for gap in self.gaps if gap > 0]


def requests(tokens: int = MOST_TOKENS) -> tuple[pb.ConverseRequest, ...]:
    """Return the messages of a turn with a text of two sentences, and an answer of so many tokens at most."""
    return (
        pb.ConverseRequest(setup=pb.TurnSetup(generation=pb.Generation(max_output_tokens=tokens))),
        pb.ConverseRequest(text=pb.TextChunk(text=QUESTION, last=True)),
        pb.ConverseRequest(end_of_input=pb.EndOfInput()),
    )


def request_bytes(tokens: int = MOST_TOKENS) -> tuple[bytes, ...]:
    """Return the same messages, serialised: a client that sends them often does that once."""
    return tuple(request.SerializeToString() for request in requests(tokens))


async def turn(stub: TurnServiceStub, sample: Sample) -> None:
    """Run one turn and note when each token came."""
    started = last = time.perf_counter()
    is_first = True
    async for response in stub.Converse(iter(requests()), timeout=TURN_SECONDS):
        count = len(response.delta.token_ids)
        if not count:
            continue
        now = time.perf_counter()
        if is_first:
            sample.first.append(now - started)
            is_first = False
        else:
            sample.gaps.append(now - last)
        sample.gaps.extend([0.0] * (count - 1))
        sample.tokens += count
        last = now


def percentile(values: list[float], share: float) -> float:
    """In milliseconds; NaN where there is none."""
    return float(np.percentile(values, share)) * 1000 if values else float("nan")
