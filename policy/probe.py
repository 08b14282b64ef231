"""The question about nobody, which is asked at start to see that a judge answers at all."""

from headworks.policy.facts import InputFacts
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.question import Question, Stage
from headworks.policy.trust.assess import Trust


def probe_question() -> Question:
    """Return a question that any sane policy refuses. A refusal with its reasons shows as well that the judge works."""
    return Question(
        turn_id="probe",
        stage=Stage.OPEN,
        caller=Caller(tenant="", subject="", authenticated_by=AuthenticatedBy.LOOPBACK),
        model="",
        purpose="",
        max_output_tokens=0,
        input=InputFacts(),
        trust=Trust(score=0.0, factors=(("probe", 0.0),)),
    )
