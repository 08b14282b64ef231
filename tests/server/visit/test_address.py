"""Addresses to listen on: every port takes every form."""

import socket
from contextlib import AsyncExitStack

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from headworks.server.http.settings import HttpSettings
from headworks.server.rpc.settings import RpcSettings
from headworks.server.visit.address import bare, with_port
from tests.server.edge import edge
from tests.server.http.conftest import Serving


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
FORMS = [
    pytest.param("127.0.0.1", ("127.0.0.1",), id="IPv4"),
    pytest.param("localhost", ("127.0.0.1",), id="a name"),
    pytest.param("::1", ("[::1]",), id="IPv6", marks=needs_ipv6),
    pytest.param("[::1]", ("[::1]",), id="IPv6 in brackets", marks=needs_ipv6),
    pytest.param("::", ("127.0.0.1", "[::1]"), id="every address", marks=needs_ipv6),
    pytest.param("[::]", ("127.0.0.1", "[::1]"), id="every address in brackets", marks=needs_ipv6),
]


@pytest.mark.parametrize(("host", "reached"), FORMS)
async def test_grpc_is_reached_at_every_form_of_its_host(host: str, reached: tuple[str, ...]) -> None:
    """gRPC itself wants brackets, and HTTP none (grpc/grpc-node#1736)."""
    async with edge(rpc=RpcSettings(host=host, port=0)) as running:
        for name in reached:
            async with grpc.aio.insecure_channel(f"{name}:{running.server.port}") as channel:
                stub = health_pb2_grpc.HealthStub(channel)
                reply = await stub.Check(health_pb2.HealthCheckRequest())
                assert reply.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize(("host", "reached"), FORMS)
async def test_http_is_reached_at_every_form_of_its_host(host: str, reached: tuple[str, ...]) -> None:
    """And its callers are known to be on this machine, whichever of its addresses they used."""
    async with AsyncExitStack() as exits:
        serving = await Serving(settings=HttpSettings(host=host, port=0), allow_loopback=True).start(exits)
        for name in reached:
            url = f"http://{name}:{serving.server.port}/bundles/headworks.tar.gz"
            async with httpx.AsyncClient(trust_env=False) as client:
                assert (await client.get(url)).status_code == 200


@pytest.mark.parametrize(
    ("host", "alone", "before_a_port"),
    [
        ("127.0.0.1", "127.0.0.1", "127.0.0.1:80"),
        ("example.org", "example.org", "example.org:80"),
        ("::1", "::1", "[::1]:80"),
        ("[::1]", "::1", "[::1]:80"),
        ("fe80::1%eth0", "fe80::1%eth0", "[fe80::1%eth0]:80"),
    ],
)
def test_brackets_stand_before_a_port_only(host: str, alone: str, before_a_port: str) -> None:
    """Sockets take none, a port cannot be told apart without."""
    assert (bare(host), with_port(host, 80)) == (alone, before_a_port)


@pytest.mark.parametrize("host", ["127.0.0.1:80", "::1:80000", "[::1]:80", "http://example.org", "[::1"])
def test_a_host_with_more_than_a_host_is_refused(host: str) -> None:
    """The address would fail later, in a sentence about something else."""
    with pytest.raises(ValueError, match="an address or a name alone"):
        RpcSettings(host=host)
    with pytest.raises(ValueError, match="an address or a name alone"):
        HttpSettings(host=host)
