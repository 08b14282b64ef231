"""The models that hear, and the threads that they run on."""

from collections.abc import Iterator

import pytest

from headworks.intake.models.store import ModelStore
from headworks.intake.onnx.settings import OnnxSettings
from headworks.intake.voice.preprocessor import VoiceModels
from headworks.intake.work import WorkPool, WorkSettings


@pytest.fixture(scope="session")
def models(store: ModelStore) -> VoiceModels:
    return VoiceModels.load(store, OnnxSettings())


@pytest.fixture
def pool() -> Iterator[WorkPool]:
    pool = WorkPool("voice", WorkSettings())
    yield pool
    pool.close()
