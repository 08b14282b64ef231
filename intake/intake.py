"""The front door of intake: the models and pools that all turns share, and what one turn is given of them."""

import asyncio
from collections.abc import Callable

from headworks.intake.image.preprocessor import ImageModels, ImagePreprocessor
from headworks.intake.models.store import ModelStore
from headworks.intake.preprocessor import Preprocessor
from headworks.intake.settings import IntakeSettings
from headworks.intake.span import Modality
from headworks.intake.table.preprocessor import TablePreprocessor
from headworks.intake.table.store import TableStore
from headworks.intake.text import TextPreprocessor
from headworks.intake.voice.encoding import VoiceForm
from headworks.intake.voice.preprocessor import VoiceModels, VoicePreprocessor
from headworks.intake.work import WorkPool


class Intake:
    """Makes preprocessors, one for each part of a turn. Their models and threads are shared by all turns."""

    def __init__(
        self, settings: IntakeSettings, voice: VoiceModels, image: ImageModels, count_tokens: Callable[[str], int]
    ) -> None:
        """Take what turns share.

        Args:
            count_tokens: Tells how many tokens of the served model a text has; tables are cut to fit a number of them.
        """
        self.tables = TableStore(settings.tables)
        self.table_pool = WorkPool("table", settings.table_work)
        self.voice = voice
        self.image = image
        self._settings = settings
        self._count_tokens = count_tokens
        self._voice_pool = WorkPool("voice", settings.voice_work)
        self._image_pool = WorkPool("image", settings.image_work)

    @classmethod
    async def load(cls, settings: IntakeSettings, store: ModelStore, count_tokens: Callable[[str], int]) -> "Intake":
        """Open the store's models, off the event loop.

        Raises:
            ModelMissing: one is not there, or damaged.
            NoProvider: none of the wanted execution providers is usable.
        """
        voice = await asyncio.to_thread(VoiceModels.load, store, settings.onnx)
        image = await asyncio.to_thread(ImageModels.load, store, settings.onnx)
        return cls(settings, voice, image, count_tokens)

    def open_part(self, modality: Modality, part: int, form: VoiceForm, owner: str) -> Preprocessor:
        """Make the preprocessor of one part.

        Args:
            part: Number of the part within its kind, from 1.
            form: How audio is sent; nothing else looks at it.
            owner: Who may ask for a table afterwards.
        """
        settings = self._settings
        match modality:
            case Modality.TEXT:
                return TextPreprocessor(part, settings.text)
            case Modality.VOICE:
                return VoicePreprocessor(part, self.voice, self._voice_pool, form, settings.voice)
            case Modality.IMAGE:
                return ImagePreprocessor(part, self.image, self._image_pool, settings.image)
            case Modality.TABLE:
                return TablePreprocessor(part, owner, self.tables, self.table_pool, self._count_tokens, settings.table)

    def close(self) -> None:
        """Let go of threads and tables."""
        for pool in (self._voice_pool, self._image_pool, self.table_pool):
            pool.close()
        self.tables.close()
