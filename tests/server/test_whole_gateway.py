"""The whole gateway on its embedded defaults: real models, real policy, real vLLM, in a process of its own."""

import json
import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import duckdb
import grpc
import httpx
import pytest

from headworks.intake.models.store import ModelKind, ModelStore
from headworks.intake.prompt.tokenizer import ModelTokenizer
from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import TurnServiceStub
from tests.server.running import RunningGateway, running_gateway

pytestmark = [pytest.mark.models, pytest.mark.engine, pytest.mark.timeout(600)]

REPOSITORY = Path(__file__).resolve().parent.parent.parent
DEMO = REPOSITORY / "server" / "cli" / "demo"
QUESTION = "How many orders did we ship in March?"
PRINTED = [
    "HEADWORKS CAFE",
    "Receipt 2025-03",
    "Coffee beans 18.50",
    "Green tea 7.25",
    "Oat milk 3.90",
    "TOTAL 29.65",
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, store: ModelStore) -> Iterator[RunningGateway]:
    with running_gateway(tmp_path_factory.mktemp("gateway"), store.root) as running:
        yield running


@pytest.fixture
def stub(gateway: RunningGateway) -> Iterator[TurnServiceStub]:
    with grpc.insecure_channel(gateway.target) as channel:
        yield TurnServiceStub(channel)


def setup(max_output_tokens: int = 16) -> pb.ConverseRequest:
    return pb.ConverseRequest(setup=pb.TurnSetup(generation=pb.Generation(max_output_tokens=max_output_tokens)))


def text(words: str) -> pb.ConverseRequest:
    return pb.ConverseRequest(text=pb.TextChunk(text=words, last=True))


def media(kind: str, data: bytes) -> pb.ConverseRequest:
    return pb.ConverseRequest(**{kind: pb.MediaChunk(data=data, last=True)})


def demo_turn() -> Iterator[pb.ConverseRequest]:
    yield setup(64)
    yield media("table", (DEMO / "orders.csv").read_bytes())
    yield media("image", (DEMO / "receipt.png").read_bytes())
    yield media("audio", (DEMO / "question.flac").read_bytes())


def test_demo_turn_is_heard_seen_read_and_answered(stub: TurnServiceStub, store: ModelStore) -> None:
    """The one story that everything hangs on; tokens are counted as the tokenizer counts them."""
    replies = list(stub.Converse(demo_turn(), timeout=120))
    assert [reply.sequence for reply in replies] == list(range(1, len(replies) + 1))
    by_kind = {reply.WhichOneof("event"): reply for reply in replies}
    assert by_kind["heard"].heard.transcript == QUESTION
    assert [line.text for line in by_kind["seen"].seen.lines] == PRINTED
    check_profile(by_kind["read"].read)
    finished = by_kind["finished"].finished
    answered = [token for reply in replies for token in reply.delta.token_ids]
    assert finished.usage.output_tokens == len(answered) > 0
    tokenizer = ModelTokenizer.load(store.find(ModelKind.LANGUAGE).path)
    spoken = [token for token in answered if token not in tokenizer.control_ids]
    assert "".join(reply.delta.text for reply in replies) == tokenizer.decode(spoken)
    assert finished.verdict.allow
    assert 0 < finished.verdict.trust <= 1


def check_profile(read: pb.Read) -> None:
    orders = duckdb.read_csv(str(DEMO / "orders.csv"))
    summary = duckdb.sql("SUMMARIZE SELECT * FROM orders").fetchall()
    assert orders.columns
    expected = [(row[0], row[1], row[2], row[3], round(row[10] * float(row[11]) / 100)) for row in summary]
    columns = [(column.name, column.type, column.minimum, column.maximum, column.nulls) for column in read.columns]
    assert columns == expected


def test_normalize_returns_spans_with_their_origins(stub: TurnServiceStub) -> None:
    """Intake alone: what the model would read, and where each piece of it came from."""
    requests = [
        pb.NormalizeRequest(setup=pb.TurnSetup()),
        pb.NormalizeRequest(image=pb.MediaChunk(data=(DEMO / "receipt.png").read_bytes(), last=True)),
    ]
    response = stub.Normalize(iter(requests), timeout=60)
    looks, *printed = [span.text for span in response.spans]
    assert looks.startswith("looks like: ")
    assert printed == PRINTED
    assert all(span.image_origin.right > span.image_origin.left for span in response.spans)
    assert response.prompt_tokens > sum(len(span.token_ids) for span in response.spans)


def test_cancel_reaches_the_real_engine(gateway: RunningGateway, stub: TurnServiceStub) -> None:
    """After the client leaves mid-answer nothing runs on; what it used is booked (vllm#54947)."""
    before = gateway.gauge('headworks_tokens_total{direction="output"}')
    call = stub.Converse(iter([setup(1500), text("Write a very long story about a river.")]), timeout=120)
    for reply in call:
        if reply.WhichOneof("event") == "delta":
            break
    call.cancel()
    gateway.wait_gauge("headworks_engine_running", 0)
    gateway.wait_gauge("headworks_turns_running", 0)
    assert gateway.gauge('headworks_tokens_total{direction="output"}') > before


BAD = [
    ("audio", b"", "voice 1"),
    ("audio", b"garbage" * 100, "voice 1"),
    ("audio", (DEMO / "question.flac").read_bytes()[:3000], "voice 1"),
    ("audio", (DEMO / "receipt.png").read_bytes(), "voice 1"),
    ("image", b"", "image 1"),
    ("image", b"garbage" * 100, "image 1"),
    ("image", (DEMO / "receipt.png").read_bytes()[:4000], "image 1"),
    ("image", (DEMO / "orders.csv").read_bytes(), "image 1"),
    ("table", b"", "table 1"),
    ("table", b"PAR1\x15\x04" + b"garbage" * 100, "table 1"),
    ("table", (DEMO / "receipt.png").read_bytes(), "table 1"),
]


@pytest.mark.parametrize(("kind", "data", "named"), BAD)
def test_bad_media_names_its_fault_and_harms_nobody(
    gateway: RunningGateway, stub: TurnServiceStub, kind: str, data: bytes, named: str
) -> None:
    """The next turn on the same channel works, and nothing is left of the bad one (vllm PR#55451, vllm#51467)."""
    with pytest.raises(grpc.RpcError) as failure:
        list(stub.Converse(iter([setup(), media(kind, data)]), timeout=60))
    assert failure.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert named in failure.value.details()
    replies = list(stub.Converse(iter([setup(4), text("Hello")]), timeout=60))
    assert replies[-1].WhichOneof("event") == "finished"
    gateway.wait_gauge("headworks_engine_running", 0)
    gateway.wait_gauge("headworks_turns_running", 0)


def test_tables_of_a_turn_are_in_the_graph(gateway: RunningGateway, stub: TurnServiceStub) -> None:
    """The id that a turn gives out opens the table in GraphQL, with filtered rows."""
    replies = stub.Converse(iter([setup(4), media("table", (DEMO / "orders.csv").read_bytes())]), timeout=60)
    table_id = next(reply.read.table_id for reply in replies if reply.WhichOneof("event") == "read")
    query = """query ($id: ID!) { table(id: $id) { ... on Table {
        columns { name type }
        rows(first: 5, filters: [{column: "orders", operator: GT, value: "600"}]) {
          ... on RowConnection { edges { node { values } } } } } } }"""
    reply = httpx.post(f"{gateway.url}/graphql", json={"query": query, "variables": {"id": table_id}}).json()
    assert "errors" not in reply, reply
    assert [edge["node"]["values"][0] for edge in reply["data"]["table"]["rows"]["edges"]] == ["2025-11", "2025-12"]


def test_turn_mutation_answers(gateway: RunningGateway) -> None:
    """The same runner, policy and meter as over gRPC."""
    turn = 'turn(input: {text: ["What is the capital of France?"]})'
    query = "mutation { " + turn + " { __typename ... on TurnFinished { text } } }"
    reply = httpx.post(f"{gateway.url}/graphql", json={"query": query}, timeout=60).json()
    assert reply["data"]["turn"]["__typename"] == "TurnFinished"
    assert "Paris" in reply["data"]["turn"]["text"]


def test_policy_bundle_is_fetched_once_per_revision(gateway: RunningGateway) -> None:
    """An OPA agent polls with the ETag it has; it is told when nothing changed."""
    first = httpx.get(f"{gateway.url}/bundles/headworks.tar.gz")
    again = httpx.get(f"{gateway.url}/bundles/headworks.tar.gz", headers={"If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code) == (200, 304)


def test_buf_curl_completes_a_turn_by_reflection(gateway: RunningGateway) -> None:
    """A client that knows nothing but the address."""
    steps = [
        {"setup": {"generation": {"maxOutputTokens": 4}}},
        {"text": {"text": "Hello", "last": True}},
        {"endOfInput": {}},
    ]
    url = f"http://{gateway.target}/headworks.v1.TurnService/Converse"
    command = [Path(sys.executable).parent / "buf", "curl", "--protocol", "grpc", "--http2-prior-knowledge"]
    data = "\n".join(json.dumps(step) for step in steps)
    done = subprocess.run(
        [*command, "--data", "@-", url], input=data.encode(), capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b'"finished"' in done.stdout


CLIENT = """
import sys, grpc
from headworks.v1 import turn_pb2 as pb, turn_pb2_grpc
with grpc.insecure_channel(sys.argv[1]) as channel:
    steps = [pb.ConverseRequest(setup=pb.TurnSetup(generation=pb.Generation(max_output_tokens=4))),
             pb.ConverseRequest(text=pb.TextChunk(text="Hello", last=True))]
    print([r.WhichOneof("event") for r in turn_pb2_grpc.TurnServiceStub(channel).Converse(iter(steps), timeout=60)][-1])
"""


def test_fresh_stubs_in_a_clean_environment_complete_a_turn(gateway: RunningGateway, tmp_path: Path) -> None:
    """What an application developer does: generate, install two packages, call."""
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    packages = [f"{name}=={version(name)}" for name in ("grpcio", "protobuf")]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True, timeout=240)
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    proto = REPOSITORY / "protos" / "headworks" / "v1" / "turn.proto"
    generate = [sys.executable, "-m", "grpc_tools.protoc", f"-I{REPOSITORY / 'protos'}"]
    subprocess.run([*generate, f"--python_out={stubs}", f"--grpc_python_out={stubs}", proto], check=True, timeout=60)
    done = subprocess.run(
        [python, "-c", CLIENT, gateway.target], cwd=stubs, capture_output=True, timeout=120, check=False
    )
    assert done.stdout.decode().strip() == "finished", done.stderr.decode()
