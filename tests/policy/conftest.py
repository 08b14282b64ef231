"""Policies that the tests ask."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from headworks.policy.bundles.sources import DEFAULT_FOLDER

TABLE: dict[str, Any] = json.loads(Path(__file__).with_name("truth_table.json").read_text())


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default policy with the tenants and roles of the truth table beside its own."""
    made = tmp_path_factory.mktemp("policy")
    shutil.copy(DEFAULT_FOLDER / "headworks.rego", made)
    data = json.loads((DEFAULT_FOLDER / "data.json").read_text())
    data["headworks"]["tenants"] |= TABLE["tenants"]
    data["headworks"]["roles"] |= TABLE["roles"]
    (made / "data.json").write_text(json.dumps(data))
    return made
