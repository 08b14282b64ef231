"""A judge in this process: the policy compiled by regorus.

An evaluation takes tens of microseconds and holds the interpreter lock, so it runs where it is asked; a thread
would add its own cost and free nothing. An engine may be used and let go only on the thread that made it: the judge
keeps one for the thread that asked first, and makes one for a single question that comes from any other.
"""

import json
import threading
import time

import regorus  # type: ignore[import-untyped]

from headworks.policy.answer import OddAnswer, parse_json, verdict_from
from headworks.policy.bundles.sources import PolicySources, read_folder
from headworks.policy.decision import new_decision_id
from headworks.policy.errors import JudgeUnavailable, NoVerdict, PolicyBroken
from headworks.policy.probe import probe_question
from headworks.policy.question import Question
from headworks.policy.question_input import encode_question
from headworks.policy.settings import RegorusSettings
from headworks.policy.verdict import Verdict

NAME = "regorus"
_UNDEFINED = '"<undefined>"'
"""How `eval_rule_as_json` writes a rule that has no value (gordon-to-regorus 0.13.0)."""


class RegorusJudge:
    """Answers from a policy folder, read once."""

    def __init__(self, settings: RegorusSettings) -> None:
        self._settings = settings
        self._sources: PolicySources | None = None
        self._revision = ""
        self._reading = threading.Lock()
        self._engine: regorus.Engine | None = None
        self._owner = 0
        self._is_closed = False

    @property
    def revision(self) -> str:
        """The revision that decides; "" before the policy is read."""
        return self._revision

    async def judge(self, question: Question) -> Verdict:
        """See `Judge`."""
        return self._decide(question)

    async def warm(self) -> None:
        """See `Judge`. Reads the folder, compiles it and asks it about nobody.

        Raises:
            PolicyBroken: also when the policy is too slow to run on the event loop.
        """
        self._compile()  # says what is wrong with the policy, where a question says only that it failed
        fastest = min(self._timed_probe() for _ in range(5))
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
        self._decide(probe_question())
        return (time.perf_counter() - started) * 1000

    def _decide(self, question: Question) -> Verdict:
        decision_id = new_decision_id()
        if self._is_closed:
            raise JudgeUnavailable(NoVerdict.DOWN, decision_id)
        try:
            text = encode_question(question, self._settings.max_question_bytes)
            answer = self._evaluate(text)
            if answer == _UNDEFINED:
                raise JudgeUnavailable(NoVerdict.UNDEFINED, decision_id)
            document = parse_json(answer, self._settings.max_answer_bytes)
        except PolicyBroken as broken:
            raise JudgeUnavailable(NoVerdict.DOWN, decision_id) from broken
        except (OddAnswer, ValueError) as odd:
            raise JudgeUnavailable(NoVerdict.ODD, decision_id) from odd
        return verdict_from(document, judge=NAME, decision_id=decision_id, revision=self._revision)

    def _compile(self) -> regorus.Engine:
        """Return the engine of this thread, made at the first call.

        Raises:
            PolicyBroken: unreadable, or it does not compile; regorus finds some faults only when it evaluates.
        """
        here = threading.get_ident()
        if self._engine is not None and self._owner == here:
            return self._engine
        engine = self._new_engine()
        with self._reading:
            if self._engine is None:
                self._engine, self._owner = engine, here
        return engine

    def _new_engine(self) -> regorus.Engine:
        sources = self._read()
        probe = encode_question(probe_question(), self._settings.max_question_bytes)
        engine = regorus.Engine()
        try:
            for path, text in sources.modules():
                engine.add_policy(path, text)
            engine.add_data_json(json.dumps(sources.data()))
            engine.set_input_json(probe)
            engine.eval_rule_as_json(self._settings.rule)
        except RuntimeError as error:
            del engine  # here, not wherever the traceback is let go
            raise PolicyBroken(
                f"the policy does not compile, or fails on a question about nobody: {_first_part(error)}"
            ) from error
        return engine

    def _forget(self) -> None:
        if self._owner == threading.get_ident():
            self._engine = None

    def _read(self) -> PolicySources:
        with self._reading:
            if self._sources is None:
                self._sources = read_folder(self._settings.folder, self._settings.limits)
                self._revision = self._sources.revision
            return self._sources

    def _evaluate(self, question: str) -> str:
        engine = self._compile()
        try:
            engine.set_input_json(question)
            answer: str = engine.eval_rule_as_json(self._settings.rule)
        except Exception as error:
            raise OddAnswer("the policy failed on this question") from error
        except BaseException as panic:
            # A panic in Rust arrives as a BaseException of a class that cannot be imported.
            if type(panic).__name__ != "PanicException":
                raise
            self._forget()
            raise OddAnswer("the policy engine panicked on this question") from panic
        finally:
            del engine  # here, not wherever a traceback is let go
        return answer


def _first_part(error: BaseException) -> str:
    """The engine's message without the Rust stack that may follow it."""
    return str(error).partition("\n\nStack backtrace")[0].strip()
