import asyncio
import json
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from headworks.policy.bundles.bundle import pack
from headworks.policy.bundles.sources import read_folder
from headworks.policy.errors import JudgeUnavailable, NoVerdict
from headworks.policy.opa import OpaJudge
from headworks.policy.settings import OpaSettings, RegorusSettings
from tests.contracts.judge import check_judge
from tests.policy.embedded import embedded_judge
from tests.policy.opa_server import http_server, opa_server, raw_server
from tests.policy.questions import question

ASKED = [question(), question(tenant="acme"), question(trust=0), question(roles=["reader"])]
ALLOW = {"allow": True, "reasons": [], "obligations": {"modalities": ["text"]}}


def settings(port: int, **others: Any) -> OpaSettings:
    return OpaSettings(
        port=port, **{"timeout_seconds": 5.0, "warm_timeout_seconds": 5.0, "poll_seconds": 0.01, **others}
    )


async def reason_of(port: int, **others: Any) -> NoVerdict:
    judge = OpaJudge(settings(port, **others))
    try:
        with pytest.raises(JudgeUnavailable) as refused:
            await judge.judge(question())
    finally:
        await judge.close()
    assert refused.value.decision_id
    return refused.value.reason


@asynccontextmanager
async def replying(result: object, status: int = 200) -> AsyncIterator[int]:
    async def data(_: web.Request) -> web.Response:
        return web.Response(text=json.dumps(result), status=status, content_type="application/json")

    async with http_server(data) as port:
        yield port


async def test_opa_is_a_judge(folder: Path) -> None:
    """The contract, against OPA's engine behind OPA's paths."""
    async with opa_server(read_folder(folder)) as port:
        await check_judge(lambda: OpaJudge(settings(port)), ASKED)


async def test_opa_and_regorus_give_one_answer_and_revision(folder: Path) -> None:
    """An operator may change the judge without changing a decision."""
    embedded = embedded_judge(RegorusSettings(folder=folder))
    async with opa_server(read_folder(folder)) as port:
        remote = OpaJudge(settings(port))
        for asked in ASKED:
            ours, theirs = await embedded.judge(asked), await remote.judge(asked)
            assert (theirs.allow, theirs.reasons, theirs.obligations) == (ours.allow, ours.reasons, ours.obligations)
            assert (theirs.judge, theirs.revision) == ("opa", ours.revision)
        await remote.close()
        await embedded.close()


@pytest.mark.skipif(shutil.which("opa") is None, reason="the opa binary is not on PATH")
async def test_the_opa_binary_decides_from_our_bundle(folder: Path, tmp_path: Path, unused_tcp_port: int) -> None:
    """The real server, with the policy as it leaves in a bundle."""
    bundle = tmp_path / "headworks.tar.gz"
    bundle.write_bytes(pack(read_folder(folder)).content)
    process = await asyncio.create_subprocess_exec(
        "opa",
        "run",
        "--server",
        "--addr",
        f"127.0.0.1:{unused_tcp_port}",
        "--bundle",
        str(bundle),
        stderr=subprocess.DEVNULL,
    )
    try:
        await check_judge(lambda: OpaJudge(settings(unused_tcp_port)), ASKED)
    finally:
        process.terminate()
        await process.wait()


async def test_a_server_that_is_not_there_is_down(unused_tcp_port: int) -> None:
    """Nobody listens."""
    assert await reason_of(unused_tcp_port) is NoVerdict.DOWN


async def test_warm_fails_when_the_server_never_comes(unused_tcp_port: int) -> None:
    """A gateway that cannot ask policy is not ready (agentgateway/agentgateway#2383)."""
    judge = OpaJudge(settings(unused_tcp_port, warm_timeout_seconds=0.1))
    with pytest.raises(JudgeUnavailable) as refused:
        await judge.warm()
    assert refused.value.reason is NoVerdict.DOWN
    await judge.close()


async def test_warm_asks_a_real_question_first() -> None:
    """A healthy server may still have a cold or undefined policy (agentgateway/agentgateway#2383)."""
    async with replying({}) as port:
        judge = OpaJudge(settings(port))
        with pytest.raises(JudgeUnavailable) as refused:
            await judge.warm()
        await judge.close()
    assert refused.value.reason is NoVerdict.UNDEFINED


async def test_a_silent_server_is_slow() -> None:
    """Each question has its own time limit, and its connection is not left behind (agentgateway/agentgateway#3412)."""
    asked, left = asyncio.Event(), asyncio.Event()

    async def data(_: web.Request) -> web.Response:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        raise AssertionError("unreachable")

    async with http_server(data) as port:
        assert await reason_of(port, timeout_seconds=0.2) is NoVerdict.SLOW
        assert asked.is_set()
        await asyncio.wait_for(left.wait(), 5)


async def test_a_trickle_is_slow() -> None:
    """The limit is on the whole answer, not on the gap between its bytes (agentgateway/agentgateway#3412)."""

    async def data(request: web.Request) -> web.StreamResponse:
        reply = web.StreamResponse()
        await reply.prepare(request)
        while True:
            await reply.write(b" ")
            await asyncio.sleep(0.01)

    async with http_server(data) as port:
        assert await reason_of(port, timeout_seconds=0.2) is NoVerdict.SLOW


async def test_an_endless_reply_is_cut_at_its_limit() -> None:
    """It is odd as soon as it is too long, with nothing kept; without the limit it would be slow and large."""

    async def data(request: web.Request) -> web.StreamResponse:
        reply = web.StreamResponse()
        await reply.prepare(request)
        while True:
            await reply.write(b" " * 65536)

    async with http_server(data) as port:
        assert await reason_of(port) is NoVerdict.ODD


async def test_no_policy_on_the_server_is_undefined() -> None:
    """OPA answers `{}` where there is no such document (open-policy-agent/opa#2732)."""
    async with replying({}) as port:
        assert await reason_of(port) is NoVerdict.UNDEFINED


@pytest.mark.parametrize(
    ("result", "status", "reason"),
    [
        pytest.param({"result": {**ALLOW, "extra": 1}}, 200, "ODD", id="extra"),
        pytest.param({"result": True}, 200, "ODD", id="boolean"),
        pytest.param({"result": None}, 200, "ODD", id="null"),
        pytest.param([{"result": ALLOW}], 200, "ODD", id="list"),
        pytest.param({"result": {"allow": False}}, 200, "ODD", id="half"),
        pytest.param({"result": ALLOW}, 401, "ODD", id="unauthorized"),
        pytest.param({"result": ALLOW}, 500, "ODD", id="evaluation-failed"),
        pytest.param({"result": ALLOW}, 503, "DOWN", id="proxy-says-down"),
        pytest.param({"result": ALLOW, "warning": "x" * 70000}, 200, "ODD", id="huge"),
    ],
)
async def test_an_odd_reply_is_no_verdict(result: object, status: int, reason: str) -> None:
    """An allow inside the wrong status or wrapping does not count (open-policy-agent/opa#2732)."""
    async with replying(result, status) as port:
        assert await reason_of(port) is NoVerdict[reason]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param(b"", "DOWN", id="hangs-up"),
        pytest.param(b"SSH-2.0-OpenSSH\r\n\r\n", "ODD", id="not-http"),
        pytest.param(b'HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{"result":', "ODD", id="cut"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xfe", "ODD", id="not-utf8"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "ODD", id="no-body"),
        pytest.param(
            b'HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n{"result": 1, "result": {"allow": true}} ', "ODD", id="twice"
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00", "ODD", id="gzip"
        ),
    ],
)
async def test_bytes_that_are_no_reply_are_no_verdict(reply: bytes, reason: str) -> None:
    """Whatever listens at that port."""
    async with raw_server(reply) as port:
        assert await reason_of(port) is NoVerdict[reason]


async def test_a_redirect_is_not_followed(folder: Path) -> None:
    """The token and the question go to the server in settings and to no other."""
    followed = asyncio.Event()

    async def elsewhere(_: web.Request) -> web.Response:
        followed.set()
        return web.json_response({"result": ALLOW})

    async with http_server(elsewhere) as other:

        async def data(_: web.Request) -> web.Response:
            raise web.HTTPTemporaryRedirect(f"http://127.0.0.1:{other}/v1/data/headworks/turn/decision")

        async with http_server(data) as port:
            assert await reason_of(port, token="secret") is NoVerdict.ODD
    assert not followed.is_set()


@pytest.mark.parametrize(
    "provenance",
    [
        None,
        [],
        {"bundles": []},
        {"bundles": {"a": None}},
        {"bundles": {"a": {"revision": 7}}},
        {"bundles": {"a": {"revision": "r1"}, "b": {"revision": "r2"}}},
        {"bundles": {"a": {"revision": "\ud800"}}},
        {"bundles": {"a": {"revision": "r1\nr2"}}},
    ],
)
async def test_a_revision_that_cannot_be_told_is_left_out(provenance: object) -> None:
    """The decision stands without it; half a surrogate pair in it once ended the turn as INTERNAL."""
    async with replying({"result": ALLOW, "provenance": provenance}) as port:
        judge = OpaJudge(settings(port))
        verdict = await judge.judge(question())
        await judge.close()
    assert (verdict.allow, verdict.revision) == (True, "")


async def test_a_connection_closed_while_idle_is_replaced() -> None:
    """Else the first question after a quiet minute would be refused."""
    closed_first: list[bool] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if not closed_first:
            closed_first.append(True)
            writer.close()
            return
        body = json.dumps({"result": ALLOW}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        judge = OpaJudge(settings(server.sockets[0].getsockname()[1]))
        assert (await judge.judge(question())).allow
        await judge.close()


async def test_the_token_is_sent_and_never_shown(folder: Path) -> None:
    """Settings are printed at start (vllm-project/production-stack#824)."""
    async with opa_server(read_folder(folder), token="hush-hush") as port:
        judge = OpaJudge(settings(port, token="hush-hush"))
        assert (await judge.judge(question())).allow
        await judge.close()
        assert await reason_of(port, token="wrong") is NoVerdict.ODD
    assert "hush" not in repr(settings(port, token="hush-hush"))


async def test_tls_is_checked_against_the_named_authority(tmp_path: Path) -> None:
    """A server with another certificate is down, not trusted."""
    certificate = _certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)

    async def data(_: web.Request) -> web.Response:
        return web.json_response({"result": ALLOW})

    async with http_server(data, context) as port:
        judge = OpaJudge(settings(port, host="localhost", is_tls=True, ca_file=certificate))
        assert (await judge.judge(question())).allow
        await judge.close()
        assert await reason_of(port, host="localhost", is_tls=True) is NoVerdict.DOWN
        assert await reason_of(port) in (NoVerdict.DOWN, NoVerdict.ODD)


async def test_a_missing_authority_file_is_down(tmp_path: Path, unused_tcp_port: int) -> None:
    """It never falls back to the system's."""
    assert await reason_of(unused_tcp_port, is_tls=True, ca_file=tmp_path / "none.pem") is NoVerdict.DOWN


def _certificate(folder: Path) -> Path:
    """A certificate for localhost and its key, in one file, from the openssl command."""
    key, certificate, both = folder / "key.pem", folder / "certificate.pem", folder / "both.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    return both
