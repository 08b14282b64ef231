"""One ONNX graph, open and ready. Blocking: call it on a `WorkPool`."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headworks.intake.errors import ModelMissing
from headworks.intake.onnx.provider import ProviderChoice, choose, settle
from headworks.intake.onnx.settings import CUDA, OnnxSettings

os.putenv("ORT_DISABLE_TELEMETRY", "1")
import onnxruntime  # it reads that once, here; without it, it reports to its makers which models are opened

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Held:
    """An output that stays where it was computed (GPU memory, with CUDA), to be the input of a later run."""

    value: onnxruntime.OrtValue


class Session:
    """Runs one graph; any number of threads may do so at once. Made by `open_session`."""

    def __init__(self, session: Any, choice: ProviderChoice, cuda_device: int) -> None:
        self.choice = choice
        self.input_names: tuple[str, ...] = tuple(one.name for one in session.get_inputs())
        self.output_names: tuple[str, ...] = tuple(one.name for one in session.get_outputs())
        self.metadata: Mapping[str, str] = dict(session.get_modelmeta().custom_metadata_map)
        self._session = session
        self._cuda_device = cuda_device

    @property
    def raw(self) -> Any:
        """The `onnxruntime.InferenceSession`, for libraries that take one."""
        return self._session

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Run the graph and bring every output to the host; bound where CUDA is used.

        Args:
            inputs: By input name; all of them.
        """
        if self.choice.active == CUDA:
            fetched, _ = self.run_held(inputs, self.output_names)
            return fetched
        outputs = self._session.run(None, dict(inputs))
        return dict(zip(self.output_names, outputs, strict=True))

    def run_held(
        self, inputs: Mapping[str, Array | Held], fetch: Collection[str]
    ) -> tuple[dict[str, Array], dict[str, Held]]:
        """Run the graph with bound inputs and outputs, and bring only some outputs to the host.

        A key/value cache goes from one run to the next this way without a copy.

        Args:
            inputs: By input name; host arrays, or what an earlier run held.
            fetch: Names of the outputs to bring to the host.
        Returns:
            (the fetched outputs, the others), by output name.
        """
        device = "cuda" if self.choice.active == CUDA else "cpu"
        binding = self._session.io_binding()
        for name, value in inputs.items():
            if isinstance(value, Held):
                binding.bind_ortvalue_input(name, value.value)
            else:
                binding.bind_cpu_input(name, np.ascontiguousarray(value))
        for name in self.output_names:
            if name in fetch:
                binding.bind_output(name, "cpu")
            else:
                binding.bind_output(name, device, self._cuda_device if device == "cuda" else 0)
        self._session.run_with_iobinding(binding)
        values = dict(zip(self.output_names, binding.get_outputs(), strict=True))
        fetched = {name: value.numpy() for name, value in values.items() if name in fetch}
        return fetched, {name: Held(value) for name, value in values.items() if name not in fetch}


def choose_here(settings: OnnxSettings) -> ProviderChoice:
    """Pick the first wanted provider that the installed build has; only a session shows whether it loads.

    Raises:
        NoProvider: it has none of them.
    """
    return choose(settings, onnxruntime.get_available_providers(), onnxruntime.__version__)


def open_session(path: Path, settings: OnnxSettings, *, keeps_memory: bool = True) -> Session:
    """Load a graph; takes from milliseconds to seconds.

    Args:
        keeps_memory: Whether memory that a run has used is kept for the next. ONNX Runtime then holds blocks for every
            shape of input it has met, which saves a twentieth of a run's time where shapes repeat, and grows without
            an end where they do not.
    Raises:
        ModelMissing: there is no such file, or it is not a graph.
        NoProvider: none of the wanted providers is usable.
    """
    choice = choose_here(settings)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = settings.intra_op_threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = options.enable_mem_pattern = keeps_memory
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "1" if settings.is_spinning else "0")
    # Only what can run here: naming a provider that is not in the build makes ONNX Runtime warn.
    wanted = settings.providers[settings.providers.index(choice.active) :]
    present = [name for name in wanted if name in onnxruntime.get_available_providers()]
    providers = [(name, {"device_id": settings.cuda_device} if name == CUDA else {}) for name in present]
    if not path.is_file():
        raise ModelMissing(f"{path} is not there; run: headworks models pull")
    try:
        session = onnxruntime.InferenceSession(str(path), sess_options=options, providers=providers)
    except Exception as error:
        raise ModelMissing(
            f"{path.name} cannot be loaded ({type(error).__name__}); run: headworks models pull"
        ) from error
    return Session(session, settle(choice, session.get_providers()), settings.cuda_device)
