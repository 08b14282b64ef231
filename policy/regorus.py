"""A judge in this process: the policy compiled by regorus.

An evaluation takes tens of microseconds and holds the interpreter lock, so it runs where it is asked; a thread
would add its own cost and free nothing. Engines belong to the thread that made them, so each thread has its own.
"""

import json
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import regorus  # type: ignore[import-untyped]

from headworks.policy.answer import OddAnswer, new_decision_id, parse_json, verdict_from
from headworks.policy.bundles.sources import DEFAULT_FOLDER, PolicySources, SourceLimits, read_folder
from headworks.policy.errors import JudgeUnavailable, NoVerdict, PolicyBroken
from headworks.policy.probe import probe_question
from headworks.policy.question import Question
from headworks.policy.question_input import encode_question
from headworks.policy.verdict import Verdict

NAME = "regorus"
_UNDEFINED = '"<undefined>"'
"""How `eval_rule_as_json` writes a rule that has no value (gordon-to-regorus 0.13.0)."""


@dataclass(frozen=True, slots=True)
class RegorusSettings:
    """Which policy, and its bounds."""

    folder: Path = DEFAULT_FOLDER
    """Rego and data; the default policy when not the operator's own."""
    rule: str = "data.headworks.turn.decision"
    """The rule that answers; an operator's policy has the same one."""
    limits: SourceLimits = field(default_factory=SourceLimits)
    max_question_bytes: int = 65536
    """Sixteen times the largest question seen; a longer one holds what policy must not see."""
    max_answer_bytes: int = 65536
    """Characters of JSON; an answer has three keys."""
    max_decision_milliseconds: float = 5.0
    """At start, the fastest of five tries must be under this, because an evaluation blocks the event loop."""


class RegorusJudge:
    """Answers from a policy folder, read once."""

    def __init__(self, settings: RegorusSettings) -> None:
        self._settings = settings
        self._sources: PolicySources | None = None
        self._revision = ""
        self._reading = threading.Lock()
        self._local = threading.local()
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
        self._compile()
        fastest = min(self._timed_probe() for _ in range(5))
        if fastest > self._settings.max_decision_milliseconds:
            raise PolicyBroken(
                f"the policy takes {fastest:.1f} ms a decision, max_decision_milliseconds allows "
                f"{self._settings.max_decision_milliseconds}; make it faster or ask an OPA server"
            )

    async def close(self) -> None:
        """See `Judge`."""
        self._is_closed = True
        self._local.__dict__.pop("engine", None)

    def _timed_probe(self) -> float:
        started = time.perf_counter()
        self._decide(probe_question())
        return (time.perf_counter() - started) * 1000

    def _decide(self, question: Question) -> Verdict:
        decision_id = new_decision_id()
        if self._is_closed:
            raise JudgeUnavailable(NoVerdict.DOWN, decision_id)
        try:
            engine = self._compile()
            text = encode_question(question, self._settings.max_question_bytes)
            answer = self._evaluate(engine, text)
            if answer == _UNDEFINED:
                raise JudgeUnavailable(NoVerdict.UNDEFINED, decision_id)
            document = parse_json(answer, self._settings.max_answer_bytes)
        except PolicyBroken as broken:
            raise JudgeUnavailable(NoVerdict.DOWN, decision_id) from broken
        except (OddAnswer, ValueError) as odd:
            raise JudgeUnavailable(NoVerdict.ODD, decision_id) from odd
        return verdict_from(document, judge=NAME, decision_id=decision_id, revision=self._revision)

    def _compile(self) -> regorus.Engine:
        """Return this thread's engine, made at the first call.

        Raises:
            PolicyBroken: unreadable, or it does not compile; regorus finds some faults only when it evaluates.
        """
        engine = getattr(self._local, "engine", None)
        if engine is None:
            sources = self._read()
            engine = regorus.Engine()
            try:
                for path, text in sources.modules():
                    engine.add_policy(path, text)
                engine.add_data_json(json.dumps(sources.data()))
                self._evaluate(engine, encode_question(probe_question(), self._settings.max_question_bytes))
            except (RuntimeError, OddAnswer) as error:
                raise PolicyBroken(
                    f"the policy does not compile, or fails on a question about nobody: {_first_part(error)}"
                ) from error
            self._local.engine = engine
        return engine

    def _read(self) -> PolicySources:
        with self._reading:
            if self._sources is None:
                self._sources = read_folder(self._settings.folder, self._settings.limits)
                self._revision = self._sources.revision
            return self._sources

    def _evaluate(self, engine: regorus.Engine, question: str) -> str:
        try:
            engine.set_input_json(question)
            answer: str = engine.eval_rule_as_json(self._settings.rule)
        except Exception as error:
            raise OddAnswer("the policy failed on this question") from error
        except BaseException as panic:
            # A panic in Rust arrives as a BaseException of a class that cannot be imported.
            if type(panic).__name__ != "PanicException":
                raise
            self._local.__dict__.pop("engine", None)
            raise OddAnswer("the policy engine panicked on this question") from panic
        return answer


def _first_part(error: BaseException) -> str:
    """The engine's message without the Rust stack that may follow it."""
    return str(error.__cause__ or error).partition("\n\nStack backtrace")[0].strip()
