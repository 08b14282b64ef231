"""The settings of the engine and its adapters."""

from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class SimulatedSettings:
    """The simulated engine's timing model.

    The first token comes `first_token_seconds` after the turn has a place in the batch and a whole prompt; each later
    token comes `gap_seconds` after the one before it.
    """

    first_token_seconds: float = 0.05
    gap_seconds: float = 0.02
    max_running: int = 256
    """Places in the batch; further turns wait for one, first come first served."""
    answer_tokens: int = 64
    """Length of every answer; it is shorter where the turn's ceiling or the room that its prompt leaves is."""
    max_model_tokens: int = 4096
    """Tokens of one turn's prompt and answer together; the default is that of the embedded vLLM."""
    cache_tokens: int = 0
    """Tokens that all running turns may hold; one that grows beyond them is preempted. 0: no bound."""


@dataclass(frozen=True, slots=True)
class VllmSettings:
    """The embedded vLLM's settings."""

    max_model_tokens: int = 4096
    """Tokens of one turn's prompt and answer together; half of what the small default model was trained on, to keep
    prefill short."""
    max_turns: int = 256
    """Turns that hold a place in the batch; a turn whose input still arrives holds one too."""
    cpu_cache_gibibytes: int = 1
    """Size of the key/value cache on CPU; 1 GiB holds about 46,000 tokens of the default model."""
    gpu_memory_share: float = 0.85
    """Share of the GPU's memory that vLLM may take, in (0, 1]."""
    followed_blocks_share: float = 0.01
    """Share of the cache's blocks, in (0, 1], whose life and idle time vLLM measures, for `vllm:kv_block_*`."""
    is_eager: bool = True
    """Skip compilation, so that vLLM starts in seconds instead of minutes; turn it off on a GPU that stays up."""
    data_type: str = "bfloat16"
    """Type of the weights and of the cache, as vLLM names it."""
    traces_endpoint: str = ""
    """OTLP endpoint for vLLM's own spans, with its scheme ("http://localhost:4317"); when it is empty, vLLM traces
    nothing."""
    close_seconds: float = 5.0
    """How long vLLM's core process may take to end by itself before it is killed."""
    kill_seconds: float = 10.0
    """How long the kernel may take to remove vLLM's processes once they are killed; letting go of a GPU takes long."""


class EngineKind(StrEnum):
    """The engines that there are."""

    VLLM = "vllm"
    SIMULATED = "simulated"


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Which engine makes answers, and when it is taken for dead and restarted."""

    kind: EngineKind = EngineKind.VLLM
    health_seconds: float = 0.5
    """Seconds between two looks at whether the engine is alive."""
    heartbeat_seconds: float = 5.0
    """An engine that gave no token for so long is asked for a heartbeat."""
    heartbeat_timeout_seconds: float = 60.0
    """An engine that gives neither its heartbeat nor a token for so long is taken for hung and killed. The engine
    answers between two steps of its batch, so this must be longer than the longest step, which is a prefill; turns
    whose step takes longer end by `turn.answer.stall_seconds` anyway."""
    max_start_seconds: float = 1800.0
    """A start that takes longer has failed; large weights from a network disk, then compiled, take some minutes."""
    max_restarts: int = 5
    """Restarts in a row, failed ones included, before the gateway ends; 0 ends it when its engine first dies."""
    restart_window_seconds: float = 600.0
    """Once an engine has run for so long, the restarts before it are forgotten."""
    restart_backoff_seconds: float = 1.0
    """Wait before the first restart in a row; it doubles with each further one."""
    max_restart_backoff_seconds: float = 30.0
    """Longest wait before a restart."""
    vllm: VllmSettings = field(default_factory=VllmSettings)
    simulated: SimulatedSettings = field(default_factory=SimulatedSettings)

    def __post_init__(self) -> None:
        for name in ("health_seconds", "heartbeat_seconds", "heartbeat_timeout_seconds", "max_start_seconds"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be more than 0")
        for name in (
            "max_restarts",
            "restart_window_seconds",
            "restart_backoff_seconds",
            "max_restart_backoff_seconds",
        ):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be at least 0")
