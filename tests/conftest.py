"""What many tests need."""

import os
from pathlib import Path

import pytest

from headworks.intake.models.store import ModelStore

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def store() -> ModelStore:
    """The model store that `make models` fills; `find` says what to run when it is not there."""
    return ModelStore(Path(os.environ.get("HEADWORKS_MODELS__STORE", REPOSITORY / ".headworks" / "models")))
