"""The active policy: one object owns the bytes that decide and the bytes that are served."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from headworks.policy.bundles.bundle import Bundle, pack
from headworks.policy.bundles.sources import PolicySources, SourceLimits, read_folder


@dataclass(frozen=True, slots=True)
class PolicyInForce:
    """One policy, in the two forms that are used. Make it with `put_in_force`, so that both are the same policy."""

    sources: PolicySources
    """What the embedded judge compiles."""
    bundle: Bundle
    """The same sources, packed: what OPA agents fetch."""
    since: datetime
    """When it came into force, in UTC."""

    @property
    def revision(self) -> str:
        """The digest of the sources; the bundle's manifest and every verdict name it."""
        return self.bundle.revision


class ActivePolicy:
    """Says which policy is in force.

    It keeps that policy in one attribute, so that whoever asks gets sources and bundle of one revision.
    """

    def __init__(self, policy: PolicyInForce) -> None:
        self._in_force = policy

    def active(self) -> PolicyInForce:
        """Return the policy in force. Keep the value for as long as its parts must belong together."""
        return self._in_force


def put_in_force(sources: PolicySources, since: datetime) -> PolicyInForce:
    """Pack a policy; blocking.

    Args:
        sources: The whole policy.
        since: Now, in UTC; policy itself reads no clock of the day.
    Raises:
        PolicyBroken: the data does not load, or a module names no package. Whether the rules compile is seen by the
            judge, in `warm`.
    """
    return PolicyInForce(sources=sources, bundle=pack(sources), since=since)


def read_active_policy(folder: Path, limits: SourceLimits, since: datetime) -> ActivePolicy:
    """Read a policy folder once, for the judge and for the agents; blocking.

    Raises:
        PolicyBroken: as `read_folder` and `put_in_force`.
    """
    return ActivePolicy(put_in_force(read_folder(folder, limits), since))
