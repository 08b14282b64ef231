"""`doctor`: what it says of this place, and what it measures of a gateway."""

import json
import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from headworks.intake.models.store import ModelStore
from headworks.server.cli.app import run

Rows = dict[str, tuple[str, str]]
"""By subject: (state, what and why)."""


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that the tests themselves run under would count as changed."""
    for name in os.environ:
        if name.startswith("HEADWORKS_"):
            monkeypatch.delenv(name)


def looked(capsys: pytest.CaptureFixture[str], *arguments: str, code: int) -> Rows:
    """Run `doctor --json`, and return its rows."""
    assert run(["doctor", "--json", *arguments]) == code
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {row["subject"]: (row["state"], row["what"]) for row in rows}


def write_config(folder: Path, text: str) -> str:
    path = folder / "headworks.toml"
    path.write_text(text)
    return str(path)


def test_an_empty_store_is_wrong_and_says_what_to_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Serving would fail, so the exit code says so; labels for pictures are the only thing that may be missing."""
    rows = looked(capsys, "--store", str(tmp_path), code=1)
    for kind in ("language", "whisper", "vad", "ocr"):
        state, what = rows[f"{kind} model"]
        assert (state, "run: headworks models pull" in what) == ("wrong", True)
    assert rows["clip model"][0] == "absent"
    assert rows["onnx"] == ("ok", rows["onnx"][1])
    assert rows["onnx"][1].endswith("(not tried, no model)")
    assert rows["policy"][0] == "ok"


def test_the_table_says_the_same_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One row a check, with its state in words, whatever the colour."""
    rows = looked(capsys, "--store", str(tmp_path), code=1)
    assert run(["doctor", "--store", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "\x1b" not in printed.out
    words = " ".join(printed.out.split())
    for subject, (state, what) in rows.items():
        assert f"{subject} {state} {what.split()[0]}" in words


@pytest.mark.models
def test_a_full_store_is_fine(capsys: pytest.CaptureFixture[str], store: ModelStore) -> None:
    """Each model with its size and source, and a session that really opened."""
    rows = looked(capsys, "--store", str(store.root), code=0)
    assert "MB, from package silero-vad" in rows["vad model"][1]
    assert rows["onnx"][1].endswith("a session opened")


def test_changed_settings_are_shown_without_secrets(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Which file, which keys, which values; a credential is three stars."""
    config = write_config(
        tmp_path,
        f"[rpc]\nport = 0\n[policy.opa]\ntoken = 'sesame'\n[policy.credentials]\nallow_loopback = false\n"
        f"[[policy.credentials.keys]]\ndigest = '{'a' * 64}'\ntenant = 't'\nsubject = 's'\n",
    )
    rows = looked(capsys, "--config", config, "--store", str(tmp_path), code=1)
    state, what = rows["settings"]
    assert state == "ok"
    assert what.startswith(f"{config}, then variables; not default: ")
    assert "rpc.port = 0" in what
    assert "policy.opa.token = ***" in what
    assert "sesame" not in str(rows)
    assert "a" * 64 not in str(rows)
    assert rows["callers"] == ("ok", "1 API keys; needed on this machine too")


def test_default_settings_are_called_that(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Nothing is listed where nothing differs."""
    rows = looked(capsys, "--store", str(tmp_path), code=1)
    assert rows["settings"][1] == "no file (--config names one); defaults, then variables; all default"
    assert rows["callers"] == ("ok", "0 API keys; callers on this machine need none")


def test_a_variable_that_nothing_reads_has_a_row(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Serving goes on, so it is odd and not wrong."""
    monkeypatch.setenv("HEADWORKS_HOME", "/opt/headworks")
    monkeypatch.setenv("HEADWORKS_METRICS_SERVICE_HOST", "10.0.0.5")
    state, what = looked(capsys, "--store", str(tmp_path), code=1)["variables"]
    assert (state, what.partition(";")[0]) == ("odd", "nothing reads HEADWORKS_HOME")


@pytest.mark.parametrize(
    ("policy", "word"),
    [
        ("[policy.regorus]\nfolder = '{folder}'\n", "nonsense.rego"),
        ("[policy]\njudge = 'opa'\n[policy.opa]\nport = 1\nwarm_timeout_seconds = 0.5\n", "JUDGE_DOWN"),
    ],
    ids=["does not compile", "nobody answers"],
)
def test_a_policy_that_cannot_judge_is_wrong(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, policy: str, word: str
) -> None:
    """Every turn would be refused."""
    (tmp_path / "nonsense.rego").write_text("package headworks.turn\ndecision := {")
    config = write_config(tmp_path, policy.format(folder=tmp_path))
    state, what = looked(capsys, "--config", config, "--store", str(tmp_path), code=1)["policy"]
    assert state == "wrong"
    assert word in what


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


@contextmanager
def serving_port() -> Iterator[int]:
    server = grpc.server(ThreadPoolExecutor(1))
    servicer = health.HealthServicer()
    servicer.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield port
    server.stop(0).wait()


def test_ports_are_free_or_somebodys(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A gateway that runs already is no fault; what is not one keeps ours from starting."""
    with serving_port() as gateways, taken_port() as other:
        config = write_config(tmp_path, f"[rpc]\nport = {gateways}\n[http]\nport = {other}\n")
        rows = looked(capsys, "--config", config, "--store", str(tmp_path), code=1)
        assert rows["grpc port"] == ("ok", f"a server on 127.0.0.1:{gateways} says NOT_SERVING")
        assert rows["http port"] == ("ok", f"127.0.0.1:{other} is taken, by a running gateway or something else")
        config = write_config(tmp_path, f"[rpc]\nport = {other}\n[http]\nport = 0\n")
        rows = looked(capsys, "--config", config, "--store", str(tmp_path), code=1)
        assert rows["grpc port"][0] == "wrong"
        assert "--port takes another" in rows["grpc port"][1]
        assert rows["http port"] == ("ok", "127.0.0.1:0 is free")


@pytest.mark.models
def test_bench_measures_a_gateway_and_stops_it(
    capsys: pytest.CaptureFixture[str], store: ModelStore, tmp_path: Path
) -> None:
    """Its own process is there, under its own name, and gone afterwards."""
    config = write_config(tmp_path, f"[engine]\nkind = 'simulated'\n[models]\nstore = '{store.root}'\n")
    assert run(["doctor", "--bench", "--json", "--config", config]) == 0
    printed = capsys.readouterr()
    measured = json.loads(printed.out)
    assert printed.err == ""
    assert measured["seconds_to_serving"] > 0
    (process,) = measured["processes"]
    assert process["name"] == "gateway"
    assert 32_000_000 < process["resident_bytes"] <= process["peak_bytes"]
    assert not Path(f"/proc/{process['pid']}").exists()


@pytest.mark.models
def test_bench_is_a_table_for_people(capsys: pytest.CaptureFixture[str], store: ModelStore, tmp_path: Path) -> None:
    """Figures on standard output, what is ready beside them on standard error."""
    config = write_config(tmp_path, f"[engine]\nkind = 'simulated'\n[models]\nstore = '{store.root}'\n")
    assert run(["doctor", "--bench", "--config", config]) == 0
    printed = capsys.readouterr()
    lines = [" ".join(line.split()) for line in printed.out.splitlines() if line.strip(" ─")]
    assert lines[0] == f"Start-up on {config}"
    assert lines[1] == "measured value"
    names = [line.rpartition(" ")[0].rpartition(" ")[0] for line in lines[2:]]
    assert names == ["start to SERVING", "gateway, resident", "gateway, resident at most"]
    assert [line.split()[-1] for line in lines[2:]] == ["s", "MB", "MB"]
    assert "engine ready after" in printed.err


def test_bench_of_a_gateway_that_cannot_start_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With the gateway's own reason in it."""
    config = write_config(tmp_path, f"[engine]\nkind = 'simulated'\n[models]\nstore = '{tmp_path}'\n")
    assert run(["doctor", "--bench", "--json", "--config", config]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert "The gateway did not start" in printed.err
    assert "There is no language model" in printed.err
