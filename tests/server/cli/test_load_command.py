"""`load` end to end: the command in a process of its own, a real server with the simulated engine here."""

import asyncio
import hashlib
import json
import re
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from headworks.policy.identity.settings import ApiKey, CredentialSettings
from headworks.server.clock import SystemClock
from headworks.server.engine.settings import SimulatedSettings
from headworks.server.engine.simulated import SimulatedEngine
from headworks.server.flow.settings import FlowSettings, LineSettings
from tests.server.cli.conftest import Ended, command, start_command
from tests.server.edge import Edge, edge

ENGINE = SimulatedSettings(first_token_seconds=0.02, gap_seconds=0.005, answer_tokens=8)
NARROW = FlowSettings(max_turns=1, line=LineSettings(max_waiting=2, interactive_seconds=0.1))
QUICK = (
    "--from", "8", "--finer", "0", "--past", "2", "--warm-up", "0.1", "--window", "0.4", "--deadline", "1",
    "--connections", "1", "--max-turns", "400",
)  # fmt: skip
STATES = ("finished", "late", "refused", "failed", "unsent", "cut")


@asynccontextmanager
async def gateway(flow: FlowSettings | None = None, keys: tuple[ApiKey, ...] = ()) -> AsyncIterator[Edge]:
    engine = SimulatedEngine((1, 2, 3), ENGINE, SystemClock())
    async with edge(engine, flow=flow, credentials=CredentialSettings(keys=keys)) as running:
        yield running


async def load(running: Edge, *arguments: str) -> Ended:
    return await command("load", "--target", f"127.0.0.1:{running.server.port}", *QUICK, *arguments)


def check_books(figures: dict[str, Any]) -> None:
    assert figures["offered"] == sum(figures["counts"][state] for state in STATES)


async def test_load_finds_the_limit_of_a_narrow_gateway(tmp_path: Path) -> None:
    """It names the limit that refused first, and accounts for every turn of the run."""
    kept, drawn = tmp_path / "run.json", tmp_path / "run.svg"
    async with gateway(NARROW) as running:
        ended = await load(running, "--to", "256", "--json", str(kept), "--picture", str(drawn))
    assert (ended.code, ended.error) == (0, "")
    fields = json.loads(kept.read_text())
    assert fields["first_limit"]["met"] == "refusal"
    assert fields["first_limit"]["name"].startswith(("flow.line.", "flow.max_turns"))
    assert f"Met first: {fields['first_limit']['name']}, which refused at" in ended.out
    assert "Critical point: " in ended.out
    check_books(fields["total"])
    for step in fields["steps"]:
        check_books(step)
    assert any(step["counts"]["refused"] for step in fields["steps"])
    assert fields["total"]["counts"]["finished"] > 0
    assert ElementTree.fromstring(drawn.read_text()).tag.endswith("svg")  # noqa: S314  # our own


async def test_load_of_callers_who_wait_finds_no_refusal_where_there_is_room() -> None:
    """Two callers, two places: nothing is met."""
    async with gateway() as running:
        ended = await load(running, "--arrivals", "closed", "--from", "1", "--to", "2", "--answer-tokens", "4")
    assert (ended.code, ended.error) == (0, "")
    assert "1 caller:" in ended.out
    assert re.search(r"All \d+ turns, warm-ups included: \d+ finished", ended.out)
    assert "Met first: nothing" in ended.out


async def test_tenants_of_a_mix_are_told_apart(tmp_path: Path) -> None:
    """Each by its own key, with its own lengths; no key is printed or kept."""
    keys = tuple(
        ApiKey(hashlib.sha256(f"key-{name}".encode()).hexdigest(), name, "load", ("operator",))
        for name in ("light", "heavy")
    )
    mix, kept = tmp_path / "mix.toml", tmp_path / "run.json"
    mix.write_text(
        '[[tenants]]\nname = "light"\napi_key = "key-light"\nprompt_words = 4\n'
        '[[tenants]]\nname = "heavy"\nshare = 3\napi_key = "key-heavy"\nprompt_words = "uniform:20:40"\n'
    )
    async with gateway(keys=keys) as running:
        ended = await load(running, "--from", "20", "--to", "20", "--mix", str(mix), "--json", str(kept))
        tenants = {record.tenant for record in running.recorder.finished}
    assert (ended.code, ended.error) == (0, "")
    assert tenants == {"light", "heavy"}
    (step,) = json.loads(kept.read_text())["steps"]
    assert set(step["tenants"]) == {"light", "heavy"}
    assert step["tenants"]["heavy"]["prompt_tokens"] > step["tenants"]["light"]["prompt_tokens"]
    assert "key-" not in ended.out + kept.read_text()


async def test_ctrl_c_ends_a_run_with_its_table(tmp_path: Path) -> None:
    """What was seen is shown and kept; the exit code says that it is not the whole."""
    kept = tmp_path / "run.json"
    async with gateway() as running:
        target = f"127.0.0.1:{running.server.port}"
        process = await start_command(
            ("load", "--target", target, "--from", "20", "--warm-up", "0", "--window", "300", "--json", str(kept))
        )
        async with asyncio.timeout(30):
            while len(running.recorder.finished) < 5:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, error = await process.communicate()
    assert process.returncode == 130
    assert b"Interrupted" in error
    assert b"ramp *" in out
    assert b"The run ended before its plan did: it was interrupted." in out
    assert json.loads(kept.read_text())["end"] == "it was interrupted"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--target", "example.com:443"), "say so with --i-may-load-this-address"),
        (("--target", "10.0.0.1:50051"), "say so with --i-may-load-this-address"),
        (("--from", "8", "--to", "4"), "the first level must be above 0 and at most the last"),
        (("--prompt-words", "many"), "a length is 64, uniform:16:256 or lognormal:64:0.8"),
        (("--mix", "/nowhere/mix.toml"), "--mix /nowhere/mix.toml cannot be read"),
        (("--metrics", "127.0.0.1:8080"), "--metrics takes an http:// or https:// address"),
        (("--json", "/nowhere/run.json"), "/nowhere/run.json cannot be written"),
    ],
)
async def test_what_cannot_be_meant_is_told_before_anything_is_sent(arguments: tuple[str, ...], words: str) -> None:
    """In one sentence, with exit code 2."""
    ended = await command("load", "--target", "127.0.0.1:1", *arguments)
    assert ended.code == 2
    assert words in ended.error
    assert ended.error.count("\n") == 1


async def test_a_server_that_is_not_there_is_told_before_the_ramp() -> None:
    """One turn is tried first: nobody wants minutes of failures."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ended = await command("load", "--target", f"127.0.0.1:{port}")
    assert ended.code == 1
    assert "No Headworks server answers" in ended.error


async def test_metrics_that_are_not_there_are_told_before_the_ramp() -> None:
    """A run without the gauges that were asked for would have to be made again."""
    async with gateway() as running:
        ended = await load(running, "--metrics", "http://127.0.0.1:1/metrics")
    assert ended.code == 2
    assert "--metrics cannot be read" in ended.error
