"""The settings of trust: how much each factor weighs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrustSettings:
    """The weight of each factor. The numbers lie in [0, 1]."""

    no_credentials: float = 0.8
    """The factor of a caller without credentials; 1 switches it off. A shell on the machine is a good credential, but
    does not say whose it is."""
    clear_transport: float = 0.5
    """The factor of a connection over a network without TLS; 1 switches it off. It is a half, because an API key that
    was sent so may have been read on its way."""
    certain_confidence: float = 0.6
    """A reading at or above this confidence is certain; below it the factor is the confidence divided by this, and 0
    switches it off. Whisper's mean token probability stays above 0.6 on clear speech and falls under it on noise."""
    alarm_label_set: str = "safety"
    """The label set that can alarm; labels of other sets never lower trust."""
    harmless_labels: tuple[str, ...] = ("safe",)
    """The labels of that set that do not alarm. Every other one does, so a new label alarms until it is listed here."""

    def __post_init__(self) -> None:
        for name in ("no_credentials", "clear_transport", "certain_confidence"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ValueError(f"policy.trust.{name} must lie in [0, 1], not {value}")
