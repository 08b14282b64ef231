"""The judge in this process: regorus compiles the policy and evaluates it, and verdicts are remembered while they hold.

An evaluation takes 150 to 200 microseconds and holds the interpreter lock, so it runs on the thread that asks: another
thread would add a hand-over and free nothing. An engine may be used and let go only on the thread that made it. The
judge therefore keeps one engine, for the thread that asked first, and makes one for each question from any other.
"""

import json
import threading
import time
from dataclasses import dataclass, replace

import regorus  # type: ignore[import-untyped]

from headworks.policy.answer import OddAnswer, parse_json, verdict_from
from headworks.policy.bundles.active import ActivePolicy, PolicyInForce
from headworks.policy.decision import new_decision_id
from headworks.policy.errors import JudgeUnavailable, NoVerdict, PolicyBroken
from headworks.policy.memory import VerdictMemory
from headworks.policy.probe import probe_question
from headworks.policy.question import Question
from headworks.policy.question_input import ReadParts, encode_question
from headworks.policy.reads import reads_of
from headworks.policy.settings import RegorusSettings
from headworks.policy.verdict import Verdict

NAME = "regorus"
_UNDEFINED = '"<undefined>"'
"""The text that `eval_rule_as_json` gives for a rule without a value (gordon-to-regorus 0.13.0)."""
_PROBES = 5
"""The fastest of so many is what the policy itself takes; a busy machine delays some of them."""


@dataclass(frozen=True, slots=True)
class _Compiled:
    """An engine, the policy that is in it, what was decided with it, and the only thread that may use it."""

    engine: regorus.Engine
    policy: PolicyInForce
    parts: ReadParts
    memory: VerdictMemory
    thread: int


class RegorusJudge:
    """Answers from the sources of the active policy."""

    def __init__(self, settings: RegorusSettings, policies: ActivePolicy) -> None:
        self._settings = settings
        self._policies = policies
        self._keeping = threading.Lock()
        self._kept: _Compiled | None = None
        self._is_closed = False

    async def judge(self, question: Question) -> Verdict:
        """See `Judge`."""
        return self._decide(question)

    async def warm(self) -> None:
        """See `Judge`. Compiles the policy and asks it about nobody.

        Raises:
            PolicyBroken: also when the policy is too slow to run on the event loop.
        """
        self._compile()  # it raises what is wrong with the policy, where a question says only that it failed
        fastest = min(self._timed_probe() for _ in range(_PROBES))
        if fastest > self._settings.max_decision_milliseconds:
            raise PolicyBroken(
                f"the policy takes {fastest:.1f} ms a decision, policy.regorus.max_decision_milliseconds allows "
                f"{self._settings.max_decision_milliseconds}; make it faster or ask an OPA server"
            )

    async def close(self) -> None:
        """See `Judge`. Call it on the thread that asked first: only there can the engine be let go."""
        self._is_closed = True
        self._forget()

    def _timed_probe(self) -> float:
        started = time.perf_counter()
        self._evaluate(self._compile(), probe_question(), new_decision_id())
        return (time.perf_counter() - started) * 1000

    def _decide(self, question: Question) -> Verdict:
        decision_id = new_decision_id()
        if self._is_closed:
            raise JudgeUnavailable(NoVerdict.DOWN, decision_id)
        try:
            compiled = self._compile()
        except PolicyBroken as broken:
            raise JudgeUnavailable(NoVerdict.DOWN, decision_id) from broken
        try:
            if (known := compiled.memory.find(question)) is not None:
                return replace(known, decision_id=decision_id)
            verdict = self._evaluate(compiled, question, decision_id)
            compiled.memory.keep(question, verdict)
            return verdict
        finally:
            del compiled  # here, and in each frame below, not wherever a traceback is let go

    def _evaluate(self, compiled: _Compiled, question: Question, decision_id: str) -> Verdict:
        try:
            text = encode_question(question, self._settings.max_question_bytes, compiled.parts)
            answer = self._answer(compiled, text)
            if answer == _UNDEFINED:
                raise JudgeUnavailable(NoVerdict.UNDEFINED, decision_id)
            document = parse_json(answer, self._settings.max_answer_bytes)
            revision = compiled.policy.revision
        except (OddAnswer, ValueError) as odd:
            raise JudgeUnavailable(NoVerdict.ODD, decision_id) from odd
        finally:
            del compiled
        return verdict_from(document, judge=NAME, decision_id=decision_id, revision=revision)

    def _answer(self, compiled: _Compiled, text: str) -> str:
        try:
            compiled.engine.set_input_json(text)
            answer: str = compiled.engine.eval_rule_as_json(self._settings.rule)
        except BaseException as fault:
            if _is_panic(fault):
                self._forget()
            elif not isinstance(fault, Exception):
                raise
            raise OddAnswer("the policy failed on this question, or its engine panicked") from fault
        finally:
            del compiled
        return answer

    def _compile(self) -> _Compiled:
        """Return the engine of this thread, made at the first call.

        Raises:
            PolicyBroken: it does not compile; regorus finds some faults only when it evaluates.
        """
        here = threading.get_ident()
        kept = self._kept
        if kept is not None and kept.thread == here:
            return kept
        compiled = self._new_engine(here)
        with self._keeping:
            if self._kept is None:
                self._kept = compiled
        return compiled

    def _new_engine(self, thread: int) -> _Compiled:
        policy = self._policies.active()
        modules, data = policy.sources.modules(), json.dumps(policy.sources.data())
        probe = encode_question(probe_question(), self._settings.max_question_bytes)
        engine = regorus.Engine()
        try:
            for path, text in modules:
                engine.add_policy(path, text)
            engine.add_data_json(data)
            reads = reads_of(engine.get_ast_as_json())
            engine.set_input_json(probe)
            engine.eval_rule_as_json(self._settings.rule)
        except BaseException as fault:
            del engine  # here, not wherever the traceback is let go
            if not isinstance(fault, Exception) and not _is_panic(fault):
                raise
            raise PolicyBroken(
                f"the policy does not compile, or fails on a question about nobody: {_first_part(fault)}"
            ) from fault
        memory = VerdictMemory(reads, self._settings.max_remembered)
        return _Compiled(engine, policy, ReadParts(reads), memory, thread)

    def _forget(self) -> None:
        kept = self._kept
        if kept is not None and kept.thread == threading.get_ident():
            self._kept = None


def _is_panic(fault: BaseException) -> bool:
    """Tell a panic in Rust, which arrives as a BaseException of a class that cannot be imported."""
    return type(fault).__name__ == "PanicException"


def _first_part(error: BaseException) -> str:
    """The engine's message without the Rust stack that may follow it."""
    return str(error).partition("\n\nStack backtrace")[0].strip()
