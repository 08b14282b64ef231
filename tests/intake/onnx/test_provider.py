"""Which execution provider runs the graphs, and why."""

import pytest

from headworks.intake.onnx.provider import NoProvider, ProviderChoice, choose, settle
from headworks.intake.onnx.settings import CPU, CUDA, OnnxSettings

TENSORRT = "TensorrtExecutionProvider"


def test_first_wanted_provider_is_taken() -> None:
    """With a GPU build the default is the GPU."""
    assert choose(OnnxSettings(), [TENSORRT, CUDA, CPU], "1.2") == ProviderChoice(
        CUDA, f"{CUDA} is the first choice and onnxruntime 1.2 has it"
    )


def test_order_is_the_settings_own() -> None:
    """Not that in which the build lists them."""
    assert choose(OnnxSettings(providers=(CPU, CUDA)), [CUDA, CPU], "1.2").active == CPU


def test_missing_provider_is_passed_over_and_named() -> None:
    """The operator sees why the GPU is idle."""
    choice = choose(OnnxSettings(), ["AzureExecutionProvider", CPU], "1.2")
    assert choice == ProviderChoice(CPU, f"onnxruntime 1.2 has no {CUDA}; {CPU} is the next choice")


def test_every_missing_provider_is_named() -> None:
    """Not the last one alone."""
    choice = choose(OnnxSettings(providers=(TENSORRT, CUDA, CPU)), [CPU], "1.2")
    assert choice.why == f"onnxruntime 1.2 has no {TENSORRT}, no {CUDA}; {CPU} is the next choice"


def test_none_that_is_wanted_is_an_error_that_says_what_to_do() -> None:
    """Running elsewhere in silence would hide a wrong installation."""
    with pytest.raises(NoProvider) as found:
        choose(OnnxSettings(providers=(TENSORRT, CUDA)), ["AzureExecutionProvider", CPU], "1.2")
    assert str(found.value) == (
        f"onnxruntime 1.2 has none of {TENSORRT}, {CUDA}; it has AzureExecutionProvider, {CPU}. "
        "Change intake.onnx.providers, or install the gpu extra."
    )


def test_no_provider_in_the_settings_is_an_error() -> None:
    """An empty list is no wish for just any."""
    with pytest.raises(NoProvider):
        choose(OnnxSettings(providers=()), [CUDA, CPU], "1.2")


def test_provider_that_did_not_start_is_corrected() -> None:
    """ONNX Runtime drops it with a line in its log when the CUDA libraries do not load."""
    settled = settle(ProviderChoice(CUDA, "first choice"), [CPU])
    assert settled.active == CPU
    assert settled.why == f"{CUDA} is in this build but did not start (driver or CUDA libraries); {CPU} took over"


@pytest.mark.parametrize("loaded", [[CUDA, CPU], []])
def test_provider_that_started_stays(loaded: list[str]) -> None:
    """So does one of a session that names none."""
    choice = ProviderChoice(CUDA, "first choice")
    assert settle(choice, loaded) is choice
