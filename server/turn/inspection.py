"""Policy's part in a turn: what is known is gathered here, and a judge is asked at each stage."""

from collections.abc import Mapping
from dataclasses import replace

from headworks.intake.errors import TooLarge
from headworks.intake.finding import Finding, Seen, best_labels
from headworks.intake.span import Modality
from headworks.policy.errors import JudgeUnavailable
from headworks.policy.facts import InputFacts, LabelFact
from headworks.policy.judge import Judge
from headworks.policy.question import Question, Stage
from headworks.policy.trust.assess import assess
from headworks.policy.trust.settings import TrustSettings
from headworks.policy.verdict import Verdict
from headworks.server.clock import Clock
from headworks.server.turn.errors import TurnRefused
from headworks.server.turn.record import TurnObserver, TurnRecord
from headworks.server.turn.steps import Judgement, Setup
from headworks.server.visit.visit import Visit


class Inspection:
    """Asks policy about one turn. Whatever is not a clear allow ends the turn."""

    def __init__(
        self,
        visit: Visit,
        record: TurnRecord,
        judge: Judge,
        trust: TrustSettings,
        observer: TurnObserver,
        clock: Clock,
    ) -> None:
        self.seconds = 0.0
        """Spent on judgements so far."""
        self._visit = visit
        self._record = record
        self._judge = judge
        self._trust = trust
        self._observer = observer
        self._clock = clock
        self._facts = InputFacts()
        self._purpose = ""
        self._asked_tokens = 0
        self._latest: Judgement | None = None

    @property
    def latest(self) -> Judgement:
        """The last allow."""
        if self._latest is None:
            raise RuntimeError("nothing was judged yet")
        return self._latest

    async def open(self, setup: Setup, max_output_tokens: int) -> Judgement:
        """May this caller open this turn?

        Raises:
            TurnRefused: no.
            JudgeUnavailable: no answer, which is a no.
        """
        self._purpose = setup.purpose
        self._asked_tokens = max_output_tokens
        return await self._ask(Stage.OPEN)

    def check_modality(self, modality: Modality) -> None:
        """Hold the turn to the kinds of input it was opened for, before a byte of a part is kept.

        Raises:
            TurnRefused: not one of them.
        """
        verdict = self.latest.verdict
        if modality.value not in verdict.obligations.modalities:
            raise TurnRefused(replace(verdict, allow=False, reasons=("MODALITY_NOT_ALLOWED",)))

    async def admit(self, finding: Finding, sizes: Mapping[Modality, int], tokens: int) -> Judgement:
        """May what is now known about the input go to the model?

        Args:
            finding: The newest one.
            sizes: Bytes received so far, by kind.
            tokens: Prompt tokens so far, the finding's included.
        Raises:
            TurnRefused: no.
            JudgeUnavailable: no answer, which is a no.
            TooLarge: over the tokens that policy allows.
        """
        self._facts = _grown(self._facts, finding, sizes, tokens)
        self._record.modalities = self._facts.modalities
        judgement = await self._ask(Stage.INPUT)
        ceiling = judgement.verdict.obligations.max_input_tokens
        if ceiling is not None and tokens > ceiling:
            raise TooLarge("obligations.max_input_tokens", ceiling, tokens)
        return judgement

    async def _ask(self, stage: Stage) -> Judgement:
        trust = assess(
            self._visit.caller,
            is_encrypted=self._visit.is_encrypted,
            is_loopback=self._visit.is_loopback,
            facts=self._facts,
            settings=self._trust,
        )
        question = Question(
            turn_id=self._record.turn_id,
            stage=stage,
            caller=self._visit.caller,
            model=self._record.model,
            purpose=self._purpose,
            max_output_tokens=self._asked_tokens,
            input=self._facts,
            trust=trust,
        )
        started = self._clock.now()
        judgement = Judgement(await self._verdict(question), trust)
        elapsed = self._clock.now() - started
        self.seconds += elapsed
        self._observer.judged(self._record, stage, judgement, elapsed)
        if not judgement.verdict.allow:
            raise TurnRefused(judgement.verdict)
        self._latest = judgement
        return judgement

    async def _verdict(self, question: Question) -> Verdict:
        try:
            return await self._judge.judge(question)
        except JudgeUnavailable as error:
            self._observer.no_verdict(self._record, question.stage, error.reason.value, error.decision_id)
            raise


def _grown(facts: InputFacts, finding: Finding, sizes: Mapping[Modality, int], tokens: int) -> InputFacts:
    confidences = [span.confidence for span in finding.spans if span.confidence is not None]
    if facts.lowest_confidence is not None:
        confidences.append(facts.lowest_confidence)
    best = best_labels(finding.labels, 1) if isinstance(finding, Seen) else ()
    labels = facts.labels + tuple(LabelFact(label.set_name, label.name, label.score) for label in best)
    return InputFacts(
        modalities=tuple(sorted(modality.value for modality in sizes)),
        bytes_by_modality=tuple(sorted((modality.value, size) for modality, size in sizes.items())),
        tokens=tokens,
        lowest_confidence=min(confidences, default=None),
        labels=labels,
    )
