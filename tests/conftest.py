"""What many tests need."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from headworks.intake.models.store import ModelStore

REPOSITORY = Path(__file__).resolve().parent.parent

# No test asserts a time, and by default Hypothesis would: 200 ms an example.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def store() -> ModelStore:
    """The model store that `make models` fills; `find` says what to run when it is not there."""
    return ModelStore(Path(os.environ.get("HEADWORKS_MODELS__STORE", REPOSITORY / ".headworks" / "models")))
