"""Which execution provider runs the graphs, and why."""

from collections.abc import Sequence
from dataclasses import dataclass

from headworks.intake.errors import IntakeError
from headworks.intake.onnx.settings import OnnxSettings


class NoProvider(IntakeError):
    """None of the execution providers in the settings is usable here; the operator's task."""


@dataclass(frozen=True, slots=True)
class ProviderChoice:
    """The provider in use."""

    active: str
    """Its name in ONNX Runtime."""
    why: str
    """One sentence for `doctor`."""


def choose(settings: OnnxSettings, available: Sequence[str], version: str) -> ProviderChoice:
    """Pick the first wanted provider that this build of ONNX Runtime has.

    Args:
        available: `onnxruntime.get_available_providers()`.
        version: `onnxruntime.__version__`.
    Raises:
        NoProvider: it has none of them.
    """
    missing: list[str] = []
    for wanted in settings.providers:
        if wanted in available:
            return ProviderChoice(wanted, _reason(wanted, missing, version))
        missing.append(wanted)
    raise NoProvider(
        f"onnxruntime {version} has none of {', '.join(missing)}; it has {', '.join(available)}. "
        "Change intake.onnx.providers, or install the gpu extra."
    )


def settle(choice: ProviderChoice, loaded: Sequence[str]) -> ProviderChoice:
    """Correct a choice by what a session really got: a provider whose libraries do not load is dropped silently."""
    if loaded and loaded[0] != choice.active:
        why = f"{choice.active} is in this build but did not start (driver or CUDA libraries); {loaded[0]} took over"
        return ProviderChoice(loaded[0], why)
    return choice


def _reason(active: str, missing: Sequence[str], version: str) -> str:
    if not missing:
        return f"{active} is the first choice and onnxruntime {version} has it"
    return f"onnxruntime {version} has no {', no '.join(missing)}; {active} is the next choice"
