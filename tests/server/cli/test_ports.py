"""Ports as `doctor` sees them: it finds what serving will find, in whichever form an address is written."""

import socket
from dataclasses import replace

import pytest

from headworks.server.cli.checks import State, ports
from headworks.server.http.settings import HttpSettings
from headworks.server.rpc.settings import RpcSettings
from headworks.server.settings import Settings
from headworks.server.visit.address import with_port
from tests.server.visit.test_address import has_ipv6, needs_ipv6

EVERYWHERE = "0.0.0.0"  # noqa: S104


def told(host: str, port: int) -> dict[str, tuple[State, str]]:
    settings = replace(Settings(), rpc=RpcSettings(host=host, port=port), http=HttpSettings(host=host, port=port))
    return {check.subject: (check.state, check.what) for check in ports(settings)}


@pytest.mark.parametrize(
    ("taken", "host"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1", "localhost"),
        ("127.0.0.1", EVERYWHERE),
        pytest.param("127.0.0.1", "::", marks=needs_ipv6),
        pytest.param("::1", "::1", marks=needs_ipv6),
        pytest.param("::1", "[::1]", marks=needs_ipv6),
        pytest.param("::", EVERYWHERE, marks=needs_ipv6),
    ],
)
def test_doctor_finds_a_port_taken_where_serving_would(taken: str, host: str) -> None:
    """It used to bind an address of another kind, and called the port free."""
    family = socket.AF_INET6 if ":" in taken else socket.AF_INET
    takes_both = taken == "::"
    with socket.create_server((taken, 0), family=family, dualstack_ipv6=takes_both) as listener:
        port = listener.getsockname()[1]
        rows = told(host, port)
    assert rows["grpc port"][0] is State.WRONG
    assert "is taken" in rows["grpc port"][1]
    assert "is taken" in rows["http port"][1]


@pytest.mark.parametrize("host", ["127.0.0.1", EVERYWHERE, *(("::1", "[::1]", "::") if has_ipv6() else ())])
def test_doctor_finds_a_free_port_free(host: str) -> None:
    """And prints the address as it is written before a port."""
    assert told(host, 0)["grpc port"] == (State.FINE, f"{with_port(host, 0)} is free")


@pytest.mark.parametrize(
    ("host", "why"), [("192.0.2.1", "Cannot assign requested address"), ("no.such.host.invalid", "not known")]
)
def test_doctor_says_why_an_address_cannot_be_listened_on(host: str, why: str) -> None:
    """It is not taken by anybody; it is not this machine's."""
    for state, what in told(host, 0).values():
        assert state is State.WRONG
        assert why in what
