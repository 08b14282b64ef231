import shutil
from pathlib import Path

import pytest

from headworks.policy.bundles.active import read_active_policy
from headworks.policy.bundles.bundle import read_bundle
from headworks.policy.bundles.sources import DEFAULT_FOLDER, SourceLimits
from headworks.policy.errors import PolicyBroken
from headworks.policy.regorus import RegorusJudge
from headworks.policy.settings import RegorusSettings
from tests.policy.embedded import SINCE, active_policy
from tests.policy.questions import question

STRICTER = (DEFAULT_FOLDER / "data.json").read_text().replace('"turns_per_minute": 6000', '"turns_per_minute": 1')


@pytest.fixture
def settings(tmp_path: Path) -> RegorusSettings:
    """A folder of its own, which a test may change."""
    for name in ("headworks.rego", "data.json"):
        shutil.copy(DEFAULT_FOLDER / name, tmp_path)
    return RegorusSettings(folder=tmp_path, max_decision_milliseconds=1000)


async def test_the_policy_that_decides_is_the_one_that_is_served(settings: RegorusSettings) -> None:
    """Once the folder was read twice, and who changed it in between had agents decide by another policy than ours."""
    policies = active_policy(settings)
    (settings.folder / "data.json").write_text(STRICTER)
    judge = RegorusJudge(settings, policies)
    await judge.warm()
    verdict = await judge.judge(question())
    await judge.close()

    policy = policies.active()
    served, claimed = read_bundle(policy.bundle.content)
    assert verdict.revision == policy.revision == claimed == served.revision
    assert served == policy.sources
    assert verdict.obligations.turns_per_minute == 6000


async def test_a_changed_folder_is_another_policy(settings: RegorusSettings) -> None:
    """Read again it has another revision, so the test above would see the difference."""
    before = active_policy(settings).active()
    (settings.folder / "data.json").write_text(STRICTER)
    after = active_policy(settings).active()
    assert before.revision != after.revision
    assert before.bundle.etag != after.bundle.etag


def test_the_policy_in_force_keeps_its_time(settings: RegorusSettings) -> None:
    """An operator asks how old the policy is that decides."""
    assert active_policy(settings).active().since == SINCE


def test_the_limits_of_the_settings_hold_for_what_is_served(settings: RegorusSettings) -> None:
    """One read has one set of limits, whether the policy is decided by or served."""
    with pytest.raises(PolicyBroken, match="max_files"):
        read_active_policy(settings.folder, SourceLimits(max_files=1), SINCE)
