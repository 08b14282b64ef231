"""What every `Turns` must do."""

import asyncio
import re

from headworks.graphql.ports.turns import Failed, Finished, Refused, TurnRequest, Turns

ASKED = TurnRequest(("How many orders?", "In March."), purpose="demo", max_output_tokens=4, temperature=0.5, seed=7)
_CODE = re.compile(r"[A-Z][A-Z0-9_]*")


async def check_turns(finishing: Turns, refusing: Turns, failing: Turns) -> None:
    """Run the contract on one adapter.

    Args:
        finishing: Its turns end well.
        refusing: Its turns are refused by policy.
        failing: Its turns fail for a reason that the contract names.
    """
    await _a_finished_turn_is_whole(finishing)
    await _turns_run_beside_each_other(finishing)
    await _a_cancelled_turn_harms_no_other(finishing)
    refused = await refusing.run(ASKED)
    assert isinstance(refused, Refused)
    assert refused.decision_id
    assert refused.reasons
    assert all(_CODE.fullmatch(reason) for reason in refused.reasons)
    failed = await failing.run(ASKED)
    assert isinstance(failed, Failed)
    assert _CODE.fullmatch(failed.code)
    assert failed.code != "INTERNAL", "what nobody expected is raised"
    assert failed.message


async def _a_finished_turn_is_whole(turns: Turns) -> None:
    for asked in (ASKED, TurnRequest(("Hello.",))):
        finished = await turns.run(asked)
        assert isinstance(finished, Finished)
        assert finished.turn_id
        assert finished.text
        assert finished.finish_reason in ("STOP", "LENGTH")
        assert finished.input_tokens > 0
        assert finished.output_tokens > 0
        assert asked.max_output_tokens is None or finished.output_tokens <= asked.max_output_tokens
        assert finished.verdict.allow
        assert 0 <= finished.trust <= 1


async def _turns_run_beside_each_other(turns: Turns) -> None:
    outcomes = await asyncio.gather(*(turns.run(ASKED) for _ in range(4)))
    assert all(isinstance(outcome, Finished) for outcome in outcomes)


async def _a_cancelled_turn_harms_no_other(turns: Turns) -> None:
    running = asyncio.create_task(turns.run(ASKED))
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert isinstance(await turns.run(ASKED), Finished)
