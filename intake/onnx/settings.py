"""How ONNX Runtime runs a graph."""

from dataclasses import dataclass

CUDA = "CUDAExecutionProvider"


CPU = "CPUExecutionProvider"


@dataclass(frozen=True, slots=True)
class OnnxSettings:
    """How ONNX Runtime runs a graph."""

    providers: tuple[str, ...] = (CUDA, CPU)
    """Best first. CUDA is worth having wherever it works; the CPU always does."""
    intra_op_threads: int = 2
    """Threads within one operator, per session. More gain little on graphs of this size and starve the engine."""
    cuda_device: int = 0
    """Which GPU, as CUDA counts them."""
    is_spinning: bool = False
    """Whether idle threads spin. It saves microseconds a run and burns a core that the engine could use."""
