"""A served model: its name, the engine that runs it, and what turns text into its tokens and back."""

from dataclasses import dataclass

from headworks.intake.prompt.decoder import TextDecoder
from headworks.intake.prompt.pooled import PooledPromptWriter
from headworks.intake.prompt.settings import PromptSettings
from headworks.intake.prompt.template import ChatTemplate
from headworks.intake.prompt.tokenizer import ModelTokenizer
from headworks.intake.prompt.writer import PromptWriter
from headworks.intake.work import WorkPool
from headworks.server.engine.engine import Engine


@dataclass(frozen=True, slots=True)
class ServedModel:
    """All that a turn needs to know of the model that answers it."""

    name: str
    """What callers ask for, and what policy is told."""
    engine: Engine
    tokenizer: ModelTokenizer
    template: ChatTemplate
    max_tokens_setting: str
    """The setting that holds `max_tokens` ("engine.vllm.max_model_tokens"), for errors."""
    prompt: PromptSettings
    pool: WorkPool
    """Encodes long texts, which would hold the event loop up."""

    @property
    def max_tokens(self) -> int:
        """Prompt and answer together; the engine ends an answer that reaches it."""
        return self.engine.max_model_tokens

    def prompt_writer(self, instructions: str) -> PooledPromptWriter:
        """Make the writer of one prompt."""
        return PooledPromptWriter(PromptWriter(self.tokenizer, self.template, instructions, self.prompt), self.pool)

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text has, control tokens left as plain characters."""
        return len(self.tokenizer.encode_plain(text))

    def text_decoder(self) -> TextDecoder:
        """Make the decoder of one answer."""
        return TextDecoder(self.tokenizer)
