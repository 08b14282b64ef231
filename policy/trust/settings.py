"""The weights of trust."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrustSettings:
    """The weight of each factor. All in [0, 1]; 1 switches a factor off."""

    no_credentials: float = 0.8
    """A shell on the machine is a good credential, though it does not say whose."""
    clear_transport: float = 0.5
    """Half: an API key sent in clear may have been read on its way."""
    certain_confidence: float = 0.6
    """Confidence at and above which a reading counts as certain; below it the factor is confidence / this.
    Mean token probability of Whisper on clear speech stays above 0.6 and falls under it on noise."""
    alarm_label_set: str = "safety"
    """The label set that can alarm; other sets never lower trust."""
    harmless_labels: tuple[str, ...] = ("safe",)
    """Labels of that set that do not alarm. Every other one does, so a new label alarms until it is listed."""

    def __post_init__(self) -> None:
        for name in ("no_credentials", "clear_transport", "certain_confidence"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ValueError(f"policy.trust.{name} must lie in [0, 1], not {value}")
