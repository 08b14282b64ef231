"""Policy's part in a turn: what is known is gathered here, and a judge is asked at each stage."""

from collections.abc import Mapping

from headworks.intake.errors import TooLarge
from headworks.intake.finding import Finding, Seen, best_labels
from headworks.intake.span import Modality
from headworks.policy.errors import JudgeUnavailable
from headworks.policy.facts import InputFacts, LabelFact, least_confidence
from headworks.policy.judge import Judge
from headworks.policy.question import Question, Stage
from headworks.policy.trust.assess import assess
from headworks.policy.trust.settings import TrustSettings
from headworks.policy.verdict import Obligations, refused_by_gateway
from headworks.server.clock import Clock
from headworks.server.turn.errors import TurnRefused
from headworks.server.turn.record import TurnRecord
from headworks.server.turn.steps import Judgement, Setup
from headworks.server.visit.visit import Visit


class Inspection:
    """Asks policy about one turn. Whatever is not a clear allow ends the turn."""

    def __init__(self, visit: Visit, record: TurnRecord, judge: Judge, trust: TrustSettings, clock: Clock) -> None:
        self._visit = visit
        self._record = record
        self._judge = judge
        self._trust = trust
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

    @property
    def obligations(self) -> Obligations:
        """The obligations of the last allow; the gateway has to keep them."""
        return self.latest.verdict.obligations

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
        """Hold the turn to the kinds of input that the last allow names.

        Raises:
            TurnRefused: not one of them; a decision of the gateway, with an id of its own.
        """
        if modality.value in self.obligations.modalities:
            return
        refusal = refused_by_gateway(self.latest.verdict, "MODALITY_NOT_ALLOWED")
        self._record.judged(Stage.INPUT, Judgement(refusal, self.latest.trust), 0.0)
        raise TurnRefused(refusal)

    def check_size(self, modality: Modality, size: int) -> None:
        """Hold the turn to the bytes of one kind of input that the last allow names.

        Raises:
            TooLarge: more came.
        """
        for name, ceiling in self.obligations.max_bytes:
            if name == modality.value and size > ceiling:
                raise TooLarge("obligations.max_bytes", ceiling, size)

    async def admit(self, finding: Finding, sizes: Mapping[Modality, int], tokens: int) -> Judgement:
        """May what is now known about the input go to the model?

        Args:
            finding: The newest one.
            sizes: Bytes received so far, by kind.
            tokens: Prompt tokens so far, the finding's included.
        Raises:
            TurnRefused: no.
            JudgeUnavailable: no answer, which is a no.
        """
        self._facts = _grown(self._facts, finding, sizes, tokens)
        return await self._ask(Stage.INPUT)

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
        try:
            judgement = Judgement(await self._judge.judge(question), trust)
        except JudgeUnavailable as error:
            elapsed = self._clock.now() - started
            self._record.not_judged(stage, error.reason.value, error.decision_id, elapsed)
            raise
        except BaseException:
            self._record.left_unjudged(stage, self._clock.now() - started)
            raise
        self._record.judged(stage, judgement, self._clock.now() - started)
        if not judgement.verdict.allow:
            raise TurnRefused(judgement.verdict)
        self._latest = judgement
        return judgement


def _grown(facts: InputFacts, finding: Finding, sizes: Mapping[Modality, int], tokens: int) -> InputFacts:
    confidences = (facts.lowest_confidence, *(span.confidence for span in finding.spans))
    best = best_labels(finding.labels, 1) if isinstance(finding, Seen) else ()
    labels = facts.labels + tuple(LabelFact(label.set_name, label.name, label.score) for label in best)
    return InputFacts(
        modalities=tuple(sorted(modality.value for modality in sizes)),
        bytes_by_modality=tuple(sorted((modality.value, size) for modality, size in sizes.items())),
        tokens=tokens,
        lowest_confidence=least_confidence(confidences),
        labels=labels,
    )
