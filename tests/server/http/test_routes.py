"""Bundle, probes, metrics, identity, and the limits on a request's head."""

import asyncio
import json
import logging
import secrets
import shutil
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from prometheus_client import Counter

from headworks.policy.bundles.bundle import read_bundle
from headworks.policy.bundles.sources import DEFAULT_FOLDER
from headworks.policy.regorus import RegorusJudge
from headworks.policy.settings import RegorusSettings
from headworks.server.http.access_log import LOGGER, AccessLog
from headworks.server.http.bundle_route import is_match
from headworks.server.http.settings import HttpSettings
from tests.fakes.graph import BreakingTurns
from tests.fakes.http import BrokenBundles, HeldPolicy, RecordingHttpObserver, SwitchedReadiness
from tests.policy.embedded import active_policy
from tests.policy.questions import question
from tests.server.http.conftest import ADA_KEY, BOB_KEY, BUNDLE, Serve, Serving, raw

BUNDLE_PATH = "/bundles/headworks.tar.gz"


async def test_the_bundle_is_fetched_once_and_then_304(serve: Serve) -> None:
    """What an OPA agent does at each poll."""
    serving = await serve(Serving())
    first = await serving.client.get(BUNDLE_PATH)
    assert (first.status_code, first.content, first.headers["etag"]) == (200, BUNDLE.content, '"abc"')
    again = await serving.client.get(BUNDLE_PATH, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", '"abc"')
    changed = await serving.client.get(BUNDLE_PATH, headers={"if-none-match": '"older"'})
    assert changed.content == BUNDLE.content


async def test_the_bundle_that_is_served_is_the_policy_that_decides(serve: Serve, tmp_path: Path) -> None:
    """Also when the folder changes while the gateway runs: agents must not decide by what the gateway does not."""
    shutil.copytree(DEFAULT_FOLDER, tmp_path, dirs_exist_ok=True)
    chosen = RegorusSettings(folder=tmp_path)
    policies = active_policy(chosen)
    serving = await serve(Serving(bundles=policies))
    (tmp_path / "data.json").write_text("{}")
    judge = RegorusJudge(chosen, policies)
    verdict = await judge.judge(question())
    await judge.close()
    served, _ = read_bundle((await serving.client.get(BUNDLE_PATH)).content)
    assert (verdict.allow, verdict.revision) == (True, served.revision)


async def test_head_tells_the_bundle_without_sending_it(serve: Serve) -> None:
    """RFC 9110, section 9.3.2: the same header fields as GET."""
    serving = await serve(Serving())
    response = await serving.client.head(BUNDLE_PATH)
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-length"] == str(len(BUNDLE.content))
    assert response.headers["etag"] == '"abc"'


async def test_no_bundle_while_no_policy_is_loaded(serve: Serve) -> None:
    """An agent must not take an empty policy for the active one."""
    serving = await serve(Serving(bundles=HeldPolicy(None)))
    assert (await serving.client.get(BUNDLE_PATH)).status_code == 503


@pytest.mark.parametrize(
    ("if_none_match", "expected"),
    [
        ('"abc"', True),
        ('W/"abc"', True),
        ('"x", "abc"', True),
        ("*", True),
        ('"ab"', False),
        ("abc", False),
        ("", False),
    ],
)
def test_entity_tags_are_compared_weakly(if_none_match: str, expected: bool) -> None:
    """RFC 9110, section 13.1.2."""
    assert is_match(if_none_match, '"abc"') is expected


async def test_readyz_flips_with_readiness(serve: Serve) -> None:
    """A load balancer reads the status, a person the reasons; livez stays 200 through it."""
    readiness = SwitchedReadiness(("engine: loading weights", "policy: not compiled"))
    serving = await serve(Serving(readiness=readiness))
    waiting = await serving.client.get("/readyz")
    assert waiting.status_code == 503
    assert waiting.json() == {"ready": False, "missing": ["engine: loading weights", "policy: not compiled"]}
    assert (await serving.client.get("/livez")).status_code == 200
    readiness.waiting_for = ()
    ready = await serving.client.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"ready": True, "missing": []})


async def test_metrics_are_those_of_the_given_registry(serve: Serve) -> None:
    """Nothing global leaks in, and a scraper needs no key."""
    serving = await serve(Serving())
    Counter("headworks_turns", "Turns.", registry=serving.registry).inc(3)
    del serving.client.headers["authorization"]
    response = await serving.client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    assert "headworks_turns_total 3.0" in response.text
    assert "python_gc" not in response.text


@pytest.mark.parametrize("path", ["/", "/graphql/", "/bundles/", "/bundles/../livez", "/%00", "//graphql"])
async def test_an_unknown_path_is_404_in_our_form(serve: Serve, path: str) -> None:
    """No redirect is made up from the Host header, and the log shows no path that a peer chose."""
    serving = await serve(Serving())
    answer = await raw(serving, f"GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b'"reason":"NOT_FOUND"' in answer
    assert serving.observer.finished == [("GET", "unmatched", 404)]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Basic YWRhOmFkYQ=="},
        {"authorization": "Bearer eyJhbGciOiJub25lIn0.e30."},
        {"authorization": f"Bearer {ADA_KEY}x"},
        {"authorization": "Bearer " + "a" * 8_000},
        {"authorization": b"Bearer \xff\xfe\x80"},
        {"x-api-key": "[]"},
    ],
)
async def test_garbage_credentials_are_401(serve: Serve, headers: dict[str, str]) -> None:
    """A malformed bearer is an answer, not a crash; the answer never repeats it (aigw PR#2053)."""
    serving = await serve(Serving(allow_loopback=True))
    del serving.client.headers["authorization"]
    headers = headers or {"x-forwarded-for": "203.0.113.7"}
    response = await serving.client.get(BUNDLE_PATH, headers=headers)
    assert (response.status_code, response.json()["reason"]) == (401, "UNKNOWN_CALLER")
    assert set(response.json()) == {"reason", "message"}
    assert response.headers["www-authenticate"] == "Bearer"
    assert serving.observer.failed == []  # type: ignore[attr-defined]


@example(b"Bearer ")
@example(b"\t\x7f Bearer")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=60).filter(lambda value: not set(value) & set(b"\r\n")))
async def test_no_header_value_breaks_the_server(value: bytes) -> None:
    """Any bytes as a credential give 400 or 401, and the server goes on (aigw PR#2053)."""
    async with AsyncExitStack() as exits:
        serving = await Serving().start(exits)
        head = b"GET /bundles/headworks.tar.gz HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: "
        answer = await raw(serving, head + value + b"\r\n\r\n")
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 401 "))
        assert (await serving.client.get("/livez")).status_code == 200


async def test_two_credentials_never_pass_as_one_of_them(serve: Serve) -> None:
    """A proxy and we must not read different ones."""
    serving = await serve(Serving())
    head = f"GET {BUNDLE_PATH} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
    both = f"authorization: Bearer {ADA_KEY}\r\nauthorization: Bearer {BOB_KEY}\r\n\r\n"
    assert (await raw(serving, (head + both).encode())).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost:8080"}, 200),
        ({"host": "[::1]:8080"}, 200),
        ({"host": "evil.example"}, 401),
        ({"host": "127.0.0.1.evil.example"}, 401),
        ({"x-forwarded-for": "203.0.113.7"}, 401),
        ({"forwarded": "for=203.0.113.7"}, 401),
        ({"via": "1.1 proxy"}, 401),
    ],
)
async def test_loopback_is_trusted_only_when_nobody_stands_behind_it(
    serve: Serve, headers: dict[str, str], status: int
) -> None:
    """Neither a proxy on this machine nor a rebound name lends its loopback address to others."""
    serving = await serve(Serving(allow_loopback=True))
    del serving.client.headers["authorization"]
    assert (await serving.client.get(BUNDLE_PATH, headers=headers)).status_code == status


async def test_a_long_url_and_long_headers_are_refused(serve: Serve) -> None:
    """Each limit is named."""
    serving = await serve(Serving(settings=HttpSettings(port=0, max_url_bytes=100, max_header_bytes=2_000)))
    long_url = await serving.client.get("/livez?" + "a" * 100)
    assert (long_url.status_code, "http.max_url_bytes" in long_url.text) == (414, True)
    long_headers = await serving.client.get("/livez", headers={"x-pad": "a" * 1_950})
    assert (long_headers.status_code, "http.max_header_bytes" in long_headers.text) == (431, True)


async def test_an_endless_header_is_cut(serve: Serve) -> None:
    """A head is never held beyond its limit while its end does not come."""
    serving = await serve(Serving(settings=HttpSettings(port=0, max_header_bytes=2_000)))
    answer = await raw(serving, b"GET /livez HTTP/1.1\r\nx-pad: " + b"a" * 10_000)
    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("sent", [b"", b"GET /livez HTTP/1.1\r\nx-sl", b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\nGET /l"])
async def test_a_slow_head_ends_the_connection(serve: Serve, sent: bytes) -> None:
    """A peer that never says what it wants does not keep its connection, the first request or a later one."""
    serving = await serve(Serving(settings=HttpSettings(port=0, header_timeout_seconds=0.2)))
    await raw(serving, sent)


async def test_a_connection_too_many_is_told_and_closed(serve: Serve) -> None:
    """Connections are bounded, whether they ask anything or not."""
    serving = await serve(Serving(settings=HttpSettings(port=0, max_connections=1)))
    reader, writer = await asyncio.open_connection("127.0.0.1", serving.server.port)
    writer.write(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
    refused = await raw(serving, b"")
    assert refused.startswith(b"HTTP/1.1 503 ")
    assert json.loads(refused.partition(b"\r\n\r\n")[2])["reason"] == "TOO_MANY"
    writer.close()
    await writer.wait_closed()


@pytest.mark.parametrize(
    "garbage", [b"\x00" * 40 + b"\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
)
async def test_garbage_instead_of_http_harms_nobody_else(serve: Serve, garbage: bytes) -> None:
    """TLS, HTTP/2 and noise on a plain port end their own connection alone."""
    serving = await serve(Serving(settings=HttpSettings(port=0, header_timeout_seconds=0.2)))
    await raw(serving, garbage)
    assert (await serving.client.get("/livez")).status_code == 200


async def test_an_unexpected_exception_is_a_masked_500(serve: Serve) -> None:
    """Its message goes nowhere; its type and place go to the observer."""
    observer = RecordingHttpObserver()
    serving = await serve(Serving(bundles=BrokenBundles(), observer=observer))
    response = await serving.client.get(BUNDLE_PATH)
    assert (response.status_code, response.json()["reason"]) == (500, "INTERNAL")
    ((error_type, stack),) = observer.failed
    assert error_type == "RuntimeError"
    assert "hunter2" not in response.text + str(stack)


async def test_no_log_holds_a_secret_or_content(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    """Everything that any logger writes at DEBUG is scanned, over good, refused and broken requests (aigw PR#2508)."""
    caplog.set_level(logging.DEBUG)
    for noisy in ("httpx", "httpcore"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    content, wrong_key = secrets.token_hex(16), secrets.token_hex(16)
    log = AccessLog()
    serving = await serve(Serving(turns=BreakingTurns(), bundles=BrokenBundles(), observer=log, graphql_observer=log))
    turn = "mutation T($i: TurnInput!) { turn(input: $i) { __typename } }"
    await serving.ask(turn, i={"text": [content]})
    await serving.ask(f'{{ table(id: "{content}") {{ __typename }} }}')
    await serving.ask(f"{{ {content} }}")
    await serving.client.post("/graphql", content=content)
    await serving.client.get(f"/{content}?key={content}")
    await serving.client.get(BUNDLE_PATH)
    await serving.client.get(BUNDLE_PATH, headers={"authorization": f"Bearer {wrong_key}"})
    await raw(serving, f"GET /{content}\r\n{content}\r\n\r\n".encode())
    await serving.server.stop(1.0)
    written = "\n".join(logging.Formatter("%(name)s %(message)s").format(record) for record in caplog.records)
    for secret in (content, wrong_key, ADA_KEY, "hunter2"):
        assert secret not in written
    lines = [json.loads(record.getMessage()) for record in caplog.records if record.name == LOGGER]
    assert [line["event"] for line in lines].count("http.request") == 7
    assert {"graphql.failed", "http.failed"} <= {line["event"] for line in lines}
    assert all(set(line) == {"event", "method", "route", "status", "milliseconds"} for line in lines if "route" in line)


async def test_a_taken_port_is_an_os_error(serve: Serve) -> None:
    """Not an exit of the process, which is what uvicorn itself would do."""
    serving = await serve(Serving())
    with pytest.raises(OSError, match="in use"):
        await serve(Serving(settings=HttpSettings(port=serving.server.port)))
