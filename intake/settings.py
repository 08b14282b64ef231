"""What each kind of input may cost."""

from dataclasses import dataclass, field

from headworks.intake.image.settings import ImageSettings
from headworks.intake.onnx.settings import OnnxSettings
from headworks.intake.prompt.settings import PromptSettings
from headworks.intake.table.settings import TableSettings, TableStoreSettings
from headworks.intake.text import TextSettings
from headworks.intake.voice.settings import VoiceSettings
from headworks.intake.work import WorkSettings


@dataclass(frozen=True, slots=True)
class IntakeSettings:
    """What each kind of input may cost."""

    onnx: OnnxSettings = field(default_factory=OnnxSettings)
    voice: VoiceSettings = field(default_factory=VoiceSettings)
    image: ImageSettings = field(default_factory=ImageSettings)
    table: TableSettings = field(default_factory=TableSettings)
    tables: TableStoreSettings = field(default_factory=TableStoreSettings)
    text: TextSettings = field(default_factory=TextSettings)
    prompt: PromptSettings = field(default_factory=PromptSettings)
    voice_work: WorkSettings = field(default_factory=lambda: WorkSettings(threads=1))
    """Whisper and the VAD; each run uses `onnx.intra_op_threads` more."""
    image_work: WorkSettings = field(default_factory=lambda: WorkSettings(threads=1))
    prompt_work: WorkSettings = field(default_factory=lambda: WorkSettings(threads=1))
    """Tokens of long texts."""
    table_work: WorkSettings = field(default_factory=lambda: WorkSettings(threads=2))
