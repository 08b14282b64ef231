"""A question that the default policy allows, and its neighbours."""

from collections.abc import Mapping

from headworks.policy.facts import InputFacts
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.question import Question, Stage
from headworks.policy.trust.assess import Trust


def question(
    *,
    stage: str = "input",
    tenant: str = "local",
    authenticated_by: str = "loopback",
    roles: tuple[str, ...] | list[str] = ("operator",),
    attributes: Mapping[str, str] | None = None,
    model: str = "smollm2",
    bytes: Mapping[str, int] | None = None,  # noqa: A002 - the field's name in the policy's input
    modalities: tuple[str, ...] | list[str] | None = None,
    tokens: int = 100,
    trust: float = 0.8,
) -> Question:
    """Return a question; the modalities are those that have bytes unless given."""
    sizes = {"text": 100} if bytes is None else dict(bytes)
    return Question(
        turn_id="turn-1",
        stage=Stage(stage),
        caller=Caller(
            tenant=tenant,
            subject="loopback",
            authenticated_by=AuthenticatedBy(authenticated_by),
            roles=tuple(roles),
            attributes=dict(attributes or {}),
        ),
        model=model,
        purpose="",
        max_output_tokens=256,
        input=InputFacts(
            modalities=tuple(sorted(sizes) if modalities is None else modalities),
            bytes_by_modality=tuple(sorted(sizes.items())),
            tokens=tokens,
        ),
        trust=Trust(score=trust, factors=()),
    )
