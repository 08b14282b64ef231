"""The judge in this process, over a policy folder, as the gateway makes it."""

from datetime import UTC, datetime

from headworks.policy.bundles.active import ActivePolicy, read_active_policy
from headworks.policy.regorus import RegorusJudge
from headworks.policy.settings import RegorusSettings

SINCE = datetime(2026, 1, 1, tzinfo=UTC)


def active_policy(settings: RegorusSettings) -> ActivePolicy:
    """Read the folder of the settings, once."""
    return read_active_policy(settings.folder, settings.limits, SINCE)


def embedded_judge(settings: RegorusSettings) -> RegorusJudge:
    """Return a judge of the policy that is in the folder now."""
    return RegorusJudge(settings, active_policy(settings))
