"""The front door of intake: the models and pools that all turns share, and what one turn is given of them."""

import asyncio

from headworks.intake.image.preprocessor import ImageModels, ImagePreprocessor
from headworks.intake.models.store import ModelStore, StoredModel
from headworks.intake.preprocessor import Preprocessor
from headworks.intake.prompt.decoder import TextDecoder
from headworks.intake.prompt.template import ChatTemplate
from headworks.intake.prompt.tokenizer import ModelTokenizer
from headworks.intake.prompt.writer import PromptWriter
from headworks.intake.settings import IntakeSettings
from headworks.intake.span import Modality
from headworks.intake.table.preprocessor import TablePreprocessor
from headworks.intake.table.store import TableStore
from headworks.intake.text import TextPreprocessor
from headworks.intake.voice.encoding import VoiceForm
from headworks.intake.voice.preprocessor import VoiceModels, VoicePreprocessor
from headworks.intake.work import WorkPool


class Intake:
    """Makes preprocessors, prompt writers and decoders for one turn each."""

    def __init__(
        self,
        settings: IntakeSettings,
        tokenizer: ModelTokenizer,
        template: ChatTemplate,
        voice: VoiceModels,
        image: ImageModels,
    ) -> None:
        self.tables = TableStore(settings.tables)
        self.table_pool = WorkPool("table", settings.table_work)
        self.voice = voice
        self.image = image
        self._settings = settings
        self._tokenizer = tokenizer
        self._template = template
        self._voice_pool = WorkPool("voice", settings.voice_work)
        self._image_pool = WorkPool("image", settings.image_work)

    @classmethod
    async def load(cls, settings: IntakeSettings, store: ModelStore, language: StoredModel) -> "Intake":
        """Open the store's models, off the event loop.

        Raises:
            ModelMissing: one is not there, or damaged, or the chat template does not hold a turn's texts.
            NoProvider: none of the wanted execution providers is usable.
        """
        tokenizer = await asyncio.to_thread(ModelTokenizer.load, language.path)
        template = await asyncio.to_thread(ChatTemplate.load, language.path)
        for has_instructions in (False, True):
            template.frame(tokenizer, has_instructions)
        return cls(
            settings,
            tokenizer,
            template,
            await asyncio.to_thread(VoiceModels.load, store, settings.onnx),
            await asyncio.to_thread(ImageModels.load, store, settings.onnx),
        )

    def open_part(self, modality: Modality, part: int, form: VoiceForm, owner: str) -> Preprocessor:
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

    def prompt_writer(self, instructions: str) -> PromptWriter:
        return PromptWriter(self._tokenizer, self._template, instructions, self._settings.prompt)

    def text_decoder(self) -> TextDecoder:
        return TextDecoder(self._tokenizer)

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the tokens of a text, control tokens left as plain characters."""
        return self._tokenizer.encode_plain(text)

    def close(self) -> None:
        """Let go of threads and tables."""
        for pool in (self._voice_pool, self._image_pool, self.table_pool):
            pool.close()
        self.tables.close()

    def _count_tokens(self, text: str) -> int:
        return len(self._tokenizer.encode_plain(text))
