"""A model of an engine that batches: in one step each running turn gets a token, and prompts are read in chunks."""

from dataclasses import dataclass

from headworks.server.flow.fairness.order import Entry


@dataclass(frozen=True, slots=True)
class EngineModel:
    """What a step costs. The figures are of a middling GPU and a small model; only ratios are read off them."""

    step_seconds: float = 0.010
    turn_seconds: float = 0.0005
    """More for each turn that gets a token, so that the gap stretches with the batch."""
    prompt_token_seconds: float = 0.00005
    chunk_tokens: int = 512
    """Of prompts, read in one step at most; the longest wait is read first."""


@dataclass(slots=True, eq=False)
class Turn:
    """One turn, what it wants, and when it got it. Times are virtual seconds."""

    entry: Entry
    input_tokens: int
    output_tokens: int
    unread: int = 0
    answered: int = 0
    first_at: float | None = None

    def __post_init__(self) -> None:
        self.unread = self.input_tokens

    @property
    def is_over(self) -> bool:
        return self.answered >= self.output_tokens


@dataclass(frozen=True, slots=True)
class Step:
    """What one step took and gave."""

    seconds: float
    read: dict[Turn, int]
    answered: list[Turn]


def step(model: EngineModel, running: list[Turn]) -> Step:
    """Run one step; whoever's prompt is read in it gets its first token in the same step."""
    room, read = model.chunk_tokens, {}
    for turn in running:
        if turn.unread and room:
            read[turn] = min(turn.unread, room)
            room -= read[turn]
            turn.unread -= read[turn]
    answered = [turn for turn in running if not turn.unread]
    for turn in answered:
        turn.answered += 1
    seconds = model.step_seconds + model.turn_seconds * len(answered)
    return Step(seconds + model.prompt_token_seconds * (model.chunk_tokens - room), read, answered)
