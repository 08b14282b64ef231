"""The types of turns: text comes in, and the whole answer comes back, or why there is none."""

from typing import Annotated, Self, TypeAlias

import strawberry

from headworks.graphql.ports.turns import Finished, TurnRequest


@strawberry.input(description="A whole turn of text. For speech, pictures, tables and tokens as they come, use gRPC.")
class TurnInput:
    text: list[str] = strawberry.field(description="The text parts, in order.")
    purpose: str = strawberry.field(default="", description="What the turn is for; a claim that policy may read.")
    instructions: str = strawberry.field(default="", description="Standing instructions (the system role).")
    max_output_tokens: int | None = strawberry.field(
        default=None, description="Ceiling of the answer in tokens; null for the server's. Policy may lower it."
    )
    temperature: float | None = strawberry.field(default=None, description="0 to 2; null and 0 are greedy.")
    seed: int | None = strawberry.field(default=None, description="Seed of the sampler; null is random.")
    is_batch: bool = strawberry.field(default=False, description="Nobody waits: interactive turns may go first.")

    def to_port(self) -> TurnRequest:
        return TurnRequest(
            texts=tuple(self.text),
            purpose=self.purpose,
            instructions=self.instructions,
            max_output_tokens=self.max_output_tokens,
            temperature=self.temperature,
            seed=self.seed,
            is_batch=self.is_batch,
        )


@strawberry.type(description="Tokens that the turn used.")
class Usage:
    input_tokens: int
    output_tokens: int


@strawberry.type(description="One decision of policy.")
class Verdict:
    allow: bool
    decision_id: str = strawberry.field(description="What to quote when asking about the decision.")
    trust: float = strawberry.field(description="The trust score that policy saw, in [0, 1].")
    reasons: list[str] = strawberry.field(description="Codes from the policy.")


@strawberry.type(description="The turn ended well.")
class TurnFinished:
    turn_id: str
    text: str = strawberry.field(description="The answer.")
    finish_reason: str = strawberry.field(description='Why the answer ends ("STOP", "LENGTH").')
    usage: Usage
    verdict: Verdict

    @classmethod
    def of(cls, finished: Finished) -> Self:
        decided = finished.verdict
        return cls(
            turn_id=finished.turn_id,
            text=finished.text,
            finish_reason=finished.finish_reason,
            usage=Usage(input_tokens=finished.input_tokens, output_tokens=finished.output_tokens),
            verdict=Verdict(
                allow=decided.allow,
                decision_id=decided.decision_id,
                trust=finished.trust,
                reasons=list(decided.reasons),
            ),
        )


@strawberry.type(description="Policy refused the turn.")
class TurnRefused:
    decision_id: str = strawberry.field(description="What to quote when asking about the decision.")
    reasons: list[str] = strawberry.field(description="Codes from the policy.")


@strawberry.type(description="The turn did not come to an end.")
class TurnFailed:
    code: str = strawberry.field(description='The reason ("TOO_LARGE", "ENGINE_UNAVAILABLE"), as gRPC clients see it.')
    message: str
    turn_id: str = strawberry.field(description="Empty when the turn was never opened.")


TurnResult: TypeAlias = Annotated[TurnFinished | TurnRefused | TurnFailed, strawberry.union("TurnResult")]
