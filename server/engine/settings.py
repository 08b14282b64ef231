"""The settings of the engine and its adapters."""

from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class SimulatedSettings:
    """The timing model: the first token comes `first_token_seconds` after the turn got its place in the batch and
    its prompt was whole; each later one `gap_seconds` after the one before."""

    first_token_seconds: float = 0.05
    gap_seconds: float = 0.02
    max_running: int = 80
    """Places in the batch; later turns wait, first come first served."""
    answer_tokens: int = 64
    """Length of every answer, unless the turn's ceiling or the room beside its prompt is lower."""
    max_model_tokens: int = 4096
    """Prompt and answer of one turn, as the embedded vLLM's default."""


@dataclass(frozen=True, slots=True)
class VllmSettings:
    """Of the embedded vLLM."""

    max_model_tokens: int = 4096
    """Prompt and answer of one turn; half of what the small default model was trained on, to keep prefill short."""
    max_turns: int = 80
    """Turns that hold a place in the batch; a turn whose input still arrives holds one too."""
    cpu_cache_gibibytes: int = 1
    """Key/value cache on CPU; 1 GiB holds about 46,000 tokens of the default model."""
    gpu_memory_share: float = 0.85
    """Share of the GPU's memory that vLLM may take, in (0, 1]."""
    is_eager: bool = True
    """Skip compilation: seconds instead of minutes to start; turn off on a GPU that stays up."""
    data_type: str = "bfloat16"
    traces_endpoint: str = ""
    """OTLP endpoint for vLLM's own spans, with its scheme ("http://localhost:4317"); empty: it traces nothing."""
    close_seconds: float = 5.0
    """How long vLLM's core process may take to end before it is killed."""


class EngineKind(StrEnum):
    """Adapters of the engine port."""

    VLLM = "vllm"
    SIMULATED = "simulated"


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The settings of the engine that makes answers."""

    kind: EngineKind = EngineKind.VLLM
    health_seconds: float = 0.5
    """Between two looks at whether it is alive."""
    vllm: VllmSettings = field(default_factory=VllmSettings)
    simulated: SimulatedSettings = field(default_factory=SimulatedSettings)
