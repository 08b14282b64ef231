"""Trust is one number in [0, 1], computed from what is known about the caller and the input, with its factors. Pure."""

import math
from dataclasses import dataclass
from enum import StrEnum

from headworks.policy.facts import InputFacts
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.trust.settings import TrustSettings

_DECIMALS = 4


class TrustFactor(StrEnum):
    """What lowers trust. Factors are listed in this order."""

    NO_CREDENTIALS = "no_credentials"
    """`Caller.authenticated_by` is loopback, so the caller is whoever has a shell on this machine."""
    CLEAR_TRANSPORT = "clear_transport"
    """Bytes crossed a network unencrypted, so credentials and content may be someone else's."""
    UNCERTAIN_READING = "uncertain_reading"
    """Speech recognition or OCR was unsure (`InputFacts.lowest_confidence`), so the prompt may not be what was sent."""
    ALARMING_LABEL = "alarming_label"
    """The image-text model found a picture like an alarming label (one of the safety set in `InputFacts.labels`)."""


@dataclass(frozen=True, slots=True)
class Trust:
    """A score, and the factors whose product it is."""

    score: float
    """In [0, 1], where 1 is full trust; rounded to four decimals, more than the weights are known to."""
    factors: tuple[tuple[str, float], ...]
    """(name, factor in [0, 1]) in a fixed order; factors of 1 are left out."""


def assess(
    caller: Caller,
    *,
    is_encrypted: bool,
    is_loopback: bool,
    facts: InputFacts,
    settings: TrustSettings | None = None,
) -> Trust:
    """Compute the trust that this caller and this input deserve.

    Args:
        caller: The caller, as identity established them.
        is_encrypted: The transport between peer and gateway was TLS.
        is_loopback: The peer is on this machine, so nothing crossed a network.
        facts: What intake found out so far; the empty facts of `Stage.OPEN` lower nothing.
        settings: The weights; the default ones when None.
    """
    weights = settings or TrustSettings()
    weighed = {
        TrustFactor.NO_CREDENTIALS: _for_credentials(caller, weights),
        TrustFactor.CLEAR_TRANSPORT: 1.0 if is_encrypted or is_loopback else weights.clear_transport,
        TrustFactor.UNCERTAIN_READING: _for_reading(facts.lowest_confidence, weights.certain_confidence),
        TrustFactor.ALARMING_LABEL: _for_labels(facts, weights),
    }
    rounded = ((name.value, round(factor, _DECIMALS)) for name, factor in weighed.items())
    factors = tuple((name, factor) for name, factor in rounded if factor < 1)
    return Trust(score=round(math.prod(factor for _, factor in factors), _DECIMALS), factors=factors)


def _for_credentials(caller: Caller, weights: TrustSettings) -> float:
    return weights.no_credentials if caller.authenticated_by is AuthenticatedBy.LOOPBACK else 1.0


def _for_reading(confidence: float | None, certain: float) -> float:
    if confidence is None or certain == 0:
        return 1.0
    return _share(_share(confidence) / certain)


def _for_labels(facts: InputFacts, weights: TrustSettings) -> float:
    alarms = [
        _share(1 - label.score)
        for label in facts.labels
        if label.set_name == weights.alarm_label_set and label.name not in weights.harmless_labels
    ]
    return min(alarms, default=1.0)


def _share(value: float) -> float:
    """Clamp to [0, 1]; NaN and the infinities are 0, so that a broken score never raises trust."""
    return min(1.0, max(0.0, value)) if math.isfinite(value) else 0.0
