"""One turn in vLLM's terms: prompt chunks become its streaming input, its outputs become pieces."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headworks.server.engine.engine import FinishReason, Piece, Sampling
from headworks.server.engine.lent_prompt import LentPrompt

if TYPE_CHECKING:
    from vllm.engine.protocol import StreamingInput
    from vllm.outputs import RequestOutput
    from vllm.sampling_params import SamplingParams


class TurnAborted(Exception):
    """vLLM ended a turn by itself: its core was told to stop, or met an error in this turn alone."""


@dataclass(slots=True)
class Answering:
    """How far one turn has come: what vLLM has of its prompt, and what it gave of its answer."""

    dropped_tokens: int = 0
    """Tokens that are still to be left out: vLLM samples one after every chunk, also where the prompt goes on."""
    has_whole_prompt: bool = False
    has_begun: bool = False
    """True once there was a piece."""
    finish: FinishReason | None = None
    """Why the answer ended; None until it did."""

    def piece(self, output: "RequestOutput") -> Piece | None:
        """Return what this output adds to the answer; vLLM merges outputs that wait.

        Raises:
            TurnAborted: vLLM ended the turn before its answer was whole.
        """
        completion = output.outputs[0]
        reason = _finish_reason(completion.finish_reason)
        skip = min(self.dropped_tokens, len(completion.token_ids))
        self.dropped_tokens -= skip
        token_ids = tuple(completion.token_ids[skip:])
        is_answer = self.has_whole_prompt and self.dropped_tokens == 0
        self.finish = reason if is_answer and (token_ids or skip == 0) else None
        if not token_ids and self.finish is None:
            return None
        self.has_begun = True
        return Piece(token_ids, self.finish)

    def check_end(self) -> None:
        """Raise TurnAborted unless the answer came to its end."""
        if self.finish is None:
            raise TurnAborted("without a reason")


async def streaming_inputs(
    prompt: LentPrompt, final: "SamplingParams", answering: Answering
) -> "AsyncGenerator[StreamingInput, None]":
    """Yield the chunks as vLLM takes them, and note in `answering` what will come out for each."""
    from vllm.engine.protocol import StreamingInput
    from vllm.inputs import tokens_input
    from vllm.sampling_params import RequestOutputKind, SamplingParams

    prefill = SamplingParams(
        max_tokens=1, temperature=0.0, detokenize=False, output_kind=RequestOutputKind.DELTA, ignore_eos=True
    )
    async for chunk in prompt.chunks():
        if chunk.is_last:
            answering.has_whole_prompt = True
            yield StreamingInput(tokens_input(list(chunk.token_ids)), final)
            return
        if chunk.token_ids:
            answering.dropped_tokens += 1
            yield StreamingInput(tokens_input(list(chunk.token_ids)), prefill)


def sampling_params(sampling: Sampling) -> "SamplingParams":
    """Say to vLLM how the answer's tokens are picked."""
    from vllm.sampling_params import RequestOutputKind, SamplingParams

    return SamplingParams(
        max_tokens=sampling.max_output_tokens,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        seed=sampling.seed,
        detokenize=False,
        output_kind=RequestOutputKind.DELTA,
    )


def _finish_reason(reason: str | None) -> FinishReason | None:
    """Translate vLLM's word for why it stopped; its "abort" and "error" are no end of an answer."""
    match reason:
        case None:
            return None
        case "length":
            return FinishReason.LENGTH
        case "stop":
            return FinishReason.STOP
        case other:
            raise TurnAborted(other)
