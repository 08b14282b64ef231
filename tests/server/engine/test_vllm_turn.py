"""What vLLM's outputs mean for one turn."""

from typing import Any, NamedTuple

import pytest

from headworks.server.engine.engine import FinishReason, Piece
from headworks.server.engine.vllm_turn import Answering, TurnAborted


class Completion(NamedTuple):
    """What is read of vLLM's CompletionOutput."""

    token_ids: list[int]
    finish_reason: str | None = None


class Output(NamedTuple):
    """What is read of vLLM's RequestOutput."""

    outputs: list[Completion]


def output(*token_ids: int, finish: str | None = None) -> Any:
    return Output([Completion(list(token_ids), finish)])


def test_tokens_sampled_between_chunks_are_left_out() -> None:
    """They follow half a prompt. vLLM ends each chunk with a reason, which is not the answer's."""
    answering = Answering(dropped_tokens=2)
    assert answering.piece(output(7, finish="length")) is None
    assert not answering.has_begun
    answering.has_whole_prompt = True
    assert answering.piece(output(7, 8, 9)) == Piece((8, 9))
    assert answering.piece(output(10, finish="stop")) == Piece((10,), FinishReason.STOP)
    assert answering.has_begun
    answering.check_end()


@pytest.mark.parametrize("has_whole_prompt", [False, True], ids=["fed", "answered"])
@pytest.mark.parametrize("reason", ["abort", "error"])
def test_turn_that_vllm_gives_up_is_aborted(reason: str, has_whole_prompt: bool) -> None:
    """A core that is told to stop aborts its turns; one that is still fed must not wait for an answer."""
    answering = Answering(has_whole_prompt=has_whole_prompt)
    with pytest.raises(TurnAborted, match=reason):
        answering.piece(output(finish=reason))


def test_answer_without_a_reason_is_aborted() -> None:
    """Otherwise a cut answer would pass for a whole one."""
    answering = Answering(has_whole_prompt=True)
    answering.piece(output(1, 2))
    with pytest.raises(TurnAborted):
        answering.check_end()
