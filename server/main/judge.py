"""The policy in force, and the judge that answers from it."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime

from headworks.policy.bundles.active import ActivePolicy, read_active_policy
from headworks.policy.judge import Judge
from headworks.policy.opa import OpaJudge
from headworks.policy.regorus import RegorusJudge
from headworks.server.settings import JudgeKind, PolicySettings


async def open_policy(settings: PolicySettings, parts: AsyncExitStack) -> tuple[ActivePolicy, Judge]:
    """Read the policy folder once, for the agents that fetch it and for the embedded judge.

    Args:
        parts: Closes the judge at the end.
    Raises:
        PolicyBroken: it cannot be read.
    """
    embedded = settings.regorus
    policies = await asyncio.to_thread(read_active_policy, embedded.folder, embedded.limits, datetime.now(UTC))
    judge = OpaJudge(settings.opa) if settings.judge is JudgeKind.OPA else RegorusJudge(embedded, policies)
    parts.push_async_callback(judge.close)
    return policies, judge
