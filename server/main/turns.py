"""All that a turn goes through, from intake to the runner."""

from contextlib import AsyncExitStack
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from headworks.intake.intake import Intake
from headworks.intake.models.store import ModelKind, ModelStore
from headworks.policy.judge import Judge
from headworks.server.clock import Clock
from headworks.server.engine.served import ServedModel
from headworks.server.engine.supervised import SupervisedEngine
from headworks.server.flow.admission import Admission
from headworks.server.flow.meter import Meter
from headworks.server.main.model import open_model
from headworks.server.settings import Settings
from headworks.server.state.memory import MemoryState
from headworks.server.telemetry.load import LoadCollector
from headworks.server.telemetry.log import FlowLog
from headworks.server.telemetry.telemetry import Telemetry
from headworks.server.telemetry.vllm import VllmCollector
from headworks.server.turn.opening import Opening
from headworks.server.turn.runner import TurnRunner


@dataclass(frozen=True, slots=True)
class TurnParts:
    """The parts of turns that others need to reach."""

    served: ServedModel
    engine: SupervisedEngine
    intake: Intake
    admission: Admission
    runner: TurnRunner


async def open_turns(
    settings: Settings, judge: Judge, registry: CollectorRegistry, clock: Clock, parts: AsyncExitStack
) -> TurnParts:
    """Load the models and make the runner.

    Args:
        registry: Gets the metrics of turns and of the moment's load.
        parts: Closes what was opened, in the reverse order.
    Raises:
        ModelMissing: a model is not in the store, or is damaged there.
        NoProvider: no execution provider in the settings is usable here.
    """
    telemetry = Telemetry(settings.telemetry, registry)
    parts.callback(telemetry.close)
    store = ModelStore(settings.models.store)
    language = store.find(ModelKind.LANGUAGE, settings.models.language or None)
    served, engine = await open_model(settings, language, clock, parts)
    intake = await Intake.load(settings.intake, store, served.count_tokens)
    parts.callback(intake.close)
    admission = Admission(settings.flow, clock, engine.load, FlowLog())
    meter = Meter(MemoryState(settings.state, clock), settings.flow.max_tenants, settings.turn.max_seconds)
    opening = Opening(served, judge, settings.policy.trust, admission, meter, settings.turn, clock)
    runner = TurnRunner(
        served=served, intake=intake, opening=opening, observer=telemetry, settings=settings.turn, clock=clock
    )
    registry.register(LoadCollector(admission.figures, engine, admission.watch, settings.telemetry))
    registry.register(VllmCollector())
    return TurnParts(served, engine, intake, admission, runner)
