"""All preprocessors keep one contract, and so does the one that stands for speech in tests of the turn."""

from collections.abc import Iterator

import pytest

from headworks.intake.image.preprocessor import ImageModels, ImagePreprocessor
from headworks.intake.image.settings import ImageSettings
from headworks.intake.models.store import ModelStore
from headworks.intake.onnx.settings import CPU, OnnxSettings
from headworks.intake.table.preprocessor import TablePreprocessor
from headworks.intake.table.settings import TableSettings, TableStoreSettings
from headworks.intake.table.store import TableStore
from headworks.intake.text import TextPreprocessor, TextSettings
from headworks.intake.voice.encoding import SAMPLE_RATE_HERTZ, AudioEncoding, VoiceForm
from headworks.intake.voice.preprocessor import VoiceModels, VoicePreprocessor
from headworks.intake.voice.settings import VoiceSettings
from headworks.intake.work import WorkPool, WorkSettings
from tests.contracts.preprocessor import check_preprocessor
from tests.fakes.preprocessors import LetteredVoice
from tests.intake.image.pictures import draw, encode
from tests.intake.voice.speech import QUESTION_FILE, linear16, samples_of


@pytest.fixture
def pool() -> Iterator[WorkPool]:
    threads = WorkPool("contract", WorkSettings())
    yield threads
    threads.close()


async def test_text_keeps_the_contract() -> None:
    """It runs on the event loop, a little at a time."""
    text = "How many orders? Überall 467.\nAnd in March? " * 30
    await check_preprocessor(lambda: TextPreprocessor(2, TextSettings()), text.encode(), b"one \xff two")


async def test_fake_of_speech_keeps_the_contract() -> None:
    """Tests of the turn believe it."""
    await check_preprocessor(lambda: LetteredVoice(1), b"How many orders?", b"\xff")


async def test_tables_keep_the_contract(pool: WorkPool) -> None:
    """They are spooled and read on a thread."""
    tables = TableStore(TableStoreSettings())
    rows = b"month,orders\n" + b"".join(b"2025-%02d,%d\n" % (month, month * 40) for month in range(1, 13))
    try:
        await check_preprocessor(
            lambda: TablePreprocessor(1, "acme", tables, pool, len, TableSettings()), rows, b"\0\1\2\3", pool
        )
    finally:
        tables.close()


@pytest.mark.models
async def test_speech_keeps_the_contract(store: ModelStore, pool: WorkPool) -> None:
    """A container is kept until it is whole."""
    models = VoiceModels.load(store, OnnxSettings(providers=(CPU,)))
    question = QUESTION_FILE.read_bytes()
    await check_preprocessor(
        lambda: VoicePreprocessor(1, models, pool, VoiceForm(), VoiceSettings()), question, b"no sound at all", pool
    )


@pytest.mark.models
async def test_streamed_speech_keeps_the_contract(store: ModelStore, pool: WorkPool) -> None:
    """Its samples are heard while more of them come; half a sample is no sound."""
    models = VoiceModels.load(store, OnnxSettings(providers=(CPU,)))
    form = VoiceForm(AudioEncoding.LINEAR16, SAMPLE_RATE_HERTZ)
    question = linear16(samples_of(QUESTION_FILE))
    await check_preprocessor(
        lambda: VoicePreprocessor(1, models, pool, form, VoiceSettings()), question, bytes(3), pool
    )


@pytest.mark.models
async def test_pictures_keep_the_contract(store: ModelStore, pool: WorkPool) -> None:
    """Size comes from the header, everything else from a thread."""
    models = ImageModels.load(store, OnnxSettings(providers=(CPU,)))
    receipt = encode(draw(["TOTAL 29.65"]), "PNG")
    await check_preprocessor(lambda: ImagePreprocessor(1, models, pool, ImageSettings()), receipt, b"no picture", pool)
