"""A gateway whose real vLLM is killed or stopped, in processes of their own."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import httpx
import pytest
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health_pb2, health_pb2_grpc

from headworks.intake.models.store import ModelStore
from headworks.server.main.gateway import ExitCode
from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import TurnServiceStub
from tests.server.running import START_SECONDS, RunningGateway, running_gateway

pytestmark = [pytest.mark.models, pytest.mark.engine, pytest.mark.timeout(900)]

SETTINGS = {
    "ENGINE__HEARTBEAT_SECONDS": "1",
    "ENGINE__HEARTBEAT_TIMEOUT_SECONDS": "20",
    "ENGINE__RESTART_BACKOFF_SECONDS": "0.1",
}
CORE, WORKER = "VLLM::EngineCore", "VLLM::Worker"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, store: ModelStore) -> Iterator[RunningGateway]:
    with running_gateway(tmp_path_factory.mktemp("gateway"), store.root, **SETTINGS) as running:
        yield running


@pytest.fixture
def stub(gateway: RunningGateway) -> Iterator[TurnServiceStub]:
    with grpc.insecure_channel(gateway.target) as channel:
        yield TurnServiceStub(channel)


def setup(max_output_tokens: int) -> pb.ConverseRequest:
    return pb.ConverseRequest(setup=pb.TurnSetup(generation=pb.Generation(max_output_tokens=max_output_tokens)))


def text(words: str, *, last: bool = True) -> pb.ConverseRequest:
    return pb.ConverseRequest(text=pb.TextChunk(text=words, last=last))


def family(pid: int) -> dict[int, tuple[str, str]]:
    """Return name and state of all that a process started, those that these started included."""
    rows = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            head, _, tail = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        rows[int(folder.name)] = (head.partition("(")[2], tail.split()[0], int(tail.split()[1]))
    found = {pid}
    while more := {number for number, row in rows.items() if row[2] in found} - found:
        found |= more
    return {number: rows[number][:2] for number in found - {pid}}


def process_named(gateway: RunningGateway, name: str) -> int:
    """The kernel keeps 15 characters of a name."""
    (pid,) = [pid for pid, (found, _) in family(gateway.process.pid).items() if found == name[:15]]
    return pid


def until(holds: Callable[[], object], seconds: float = START_SECONDS) -> None:
    """Return once it holds; fail when it does not in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def is_serving(gateway: RunningGateway) -> bool:
    with grpc.insecure_channel(gateway.target) as channel:
        reply = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    return bool(reply.status == health_pb2.HealthCheckResponse.SERVING)


def is_ready(gateway: RunningGateway) -> bool:
    return httpx.get(f"{gateway.url}/readyz").status_code == 200


def reason_and_wait(error: grpc.RpcError) -> tuple[str, float]:
    """Return what a failed call's ErrorInfo and RetryInfo say; 0 seconds without a RetryInfo."""
    reason, seconds = "", 0.0
    status = Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"])
    for detail in status.details:
        info, retry = ErrorInfo(), RetryInfo()
        if detail.Unpack(info):
            reason = info.reason
        elif detail.Unpack(retry):
            seconds = retry.retry_delay.ToTimedelta().total_seconds()
    return reason, seconds


@pytest.mark.parametrize(
    ("name", "number"),
    [(CORE, signal.SIGKILL), (CORE, signal.SIGSTOP), (WORKER, signal.SIGKILL), (WORKER, signal.SIGSTOP)],
    ids=["core killed", "core stopped", "worker killed", "worker stopped"],
)
def test_engine_comes_back_and_turns_work(
    gateway: RunningGateway, stub: TurnServiceStub, name: str, number: signal.Signals
) -> None:
    """A turn that still sent its input is told to try again, and when; nothing of the old engine is left."""
    old = family(gateway.process.pid)
    may_end = threading.Event()

    def steps() -> Iterator[pb.ConverseRequest]:
        yield setup(8)
        yield text("Here is a first sentence. Here is a second one. And", last=False)
        may_end.wait()

    call = stub.Converse(steps(), timeout=START_SECONDS)
    gateway.wait_gauge("headworks_engine_running", 1)
    os.kill(process_named(gateway, name), number)
    with pytest.raises(grpc.RpcError) as failure:
        list(call)
    may_end.set()
    reason, seconds = reason_and_wait(failure.value)
    assert (failure.value.code(), reason) == (grpc.StatusCode.UNAVAILABLE, "ENGINE_UNAVAILABLE")
    assert seconds > 1
    assert httpx.get(f"{gateway.url}/livez").status_code == 200
    assert not is_ready(gateway)
    until(lambda: not is_serving(gateway))
    until(lambda: is_serving(gateway))
    assert is_ready(gateway)
    replies = list(stub.Converse(iter([setup(4), text("Hello")]), timeout=120))
    assert replies[-1].WhichOneof("event") == "finished"
    gateway.wait_gauge("headworks_engine_running", 0)
    gateway.wait_gauge("headworks_turns_running", 0)
    new = family(gateway.process.pid)
    assert sorted(name for name, _ in new.values()) == sorted(name for name, _ in old.values())
    assert not [state for _, state in new.values() if state == "Z"]


def test_interrupt_from_a_terminal_leaves_the_engine_to_the_gateway(
    gateway: RunningGateway, stub: TurnServiceStub
) -> None:
    """Ctrl-C reaches every process of the terminal; the gateway's drain would find its turns cut."""
    call = stub.Converse(iter([setup(64), text("Write a long story about a river.")]), timeout=START_SECONDS)
    assert next(reply for reply in call if reply.WhichOneof("event") == "delta")
    for name in (CORE, WORKER):
        os.kill(process_named(gateway, name), signal.SIGINT)
    assert list(call)[-1].WhichOneof("event") == "finished"
    assert is_serving(gateway)


def test_gateway_that_lost_its_engine_ends_with_a_code_of_its_own(tmp_path: Path, store: ModelStore) -> None:
    """Whoever started it can then start it anew, or elsewhere; it does not linger with /livez 200."""
    with running_gateway(tmp_path, store.root, **SETTINGS, ENGINE__MAX_RESTARTS="0") as gateway:
        os.kill(process_named(gateway, CORE), signal.SIGKILL)
        assert gateway.process.wait(60) == ExitCode.ENGINE_LOST
        assert "engine.max_restarts allows 0" in gateway.log.read_text()
