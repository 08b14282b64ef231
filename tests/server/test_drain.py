"""How a gateway ends, and how it notices that a client has; in processes of their own, on the simulated engine."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import grpc
import httpx
import pytest

from headworks.intake.models.store import ModelStore
from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import TurnServiceStub
from tests.server.running import RunningGateway, running_gateway

pytestmark = [pytest.mark.models, pytest.mark.timeout(240)]

SLOW = {"ENGINE__KIND": "simulated", "ENGINE__SIMULATED__GAP_SECONDS": "0.05", "DRAIN__GRACE_SECONDS": "1.0"}


@pytest.fixture
def gateway(tmp_path: Path, store: ModelStore) -> Iterator[RunningGateway]:
    with running_gateway(tmp_path, store.root, **SLOW) as running:
        yield running


def steps() -> Iterator[pb.ConverseRequest]:
    yield pb.ConverseRequest(setup=pb.TurnSetup(generation=pb.Generation(max_output_tokens=64)))
    yield pb.ConverseRequest(text=pb.TextChunk(text="Hello", last=True))


def test_sigterm_finishes_live_streams_and_takes_nothing_new(gateway: RunningGateway) -> None:
    """Not ready but alive while the stream ends; a new turn is told UNAVAILABLE; the process ends with 0.

    Reported as smg PR#1172, vllm-project/router#252.
    """
    with grpc.insecure_channel(gateway.target) as channel:
        stub = TurnServiceStub(channel)
        replies = stub.Converse(steps(), timeout=60)
        assert next(replies).WhichOneof("event") == "accepted"
        gateway.process.send_signal(signal.SIGTERM)
        kinds: list[str] = []
        reading = threading.Thread(target=lambda: kinds.extend(reply.WhichOneof("event") for reply in replies))
        reading.start()
        threading.Event().wait(1.5)
        assert httpx.get(f"{gateway.url}/livez").status_code == 200
        assert httpx.get(f"{gateway.url}/readyz").status_code == 503
        with pytest.raises(grpc.RpcError) as refusal:
            list(stub.Converse(steps(), timeout=10))
        assert refusal.value.code() is grpc.StatusCode.UNAVAILABLE
        reading.join(30)
        assert kinds[-1] == "finished"
    assert gateway.process.wait(30) == 0


CLIENT = """
import sys, grpc
from headworks.v1 import turn_pb2 as pb, turn_pb2_grpc
channel = grpc.insecure_channel(sys.argv[1])
steps = [pb.ConverseRequest(setup=pb.TurnSetup(generation=pb.Generation(max_output_tokens=64))),
         pb.ConverseRequest(text=pb.TextChunk(text="Hello", last=True))]
for reply in turn_pb2_grpc.TurnServiceStub(channel).Converse(iter(steps)):
    print(reply.WhichOneof("event"), flush=True)
"""


def test_killed_client_frees_the_engine(gateway: RunningGateway) -> None:
    """SIGKILL leaves no goodbye from the client itself, only from its kernel (vllm#10806)."""
    client = subprocess.Popen([sys.executable, "-c", CLIENT, gateway.target], stdout=subprocess.PIPE)
    assert client.stdout is not None
    while client.stdout.readline().strip() != b"delta":
        pass
    assert gateway.gauge("headworks_engine_running") == 1
    client.kill()
    client.wait()
    client.stdout.close()
    gateway.wait_gauge("headworks_engine_running", 0)
    gateway.wait_gauge("headworks_turns_running", 0)
