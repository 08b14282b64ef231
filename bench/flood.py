"""What a flood of handshakes does to streams that run.

A simulated engine answers paced turns through the gateway, alone and beside peers that connect, shake hands and leave
as fast as they can: by TCP, by HTTP/2, and by TLS with HTTP/2. Gateway, callers and flood run in processes of their own
on this machine, so that a flood also takes CPU from the callers: compare the rows, not the machine.

Run: python -m bench.flood
"""

import argparse
import asyncio
import multiprocessing
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from multiprocessing.connection import Connection
from pathlib import Path

import grpc
import uvloop
from rich.console import Console
from rich.table import Table

from bench.turn import Sample, Timing, percentile, turn
from headworks.v1.turn_pb2_grpc import TurnServiceStub
from tests.server.certificates import Certificate, make_certificate

PACED = Timing(first_token_seconds=0.05, gap_seconds=0.02, tokens=64)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""A client's first words, and empty settings (RFC 9113, sections 3.4 and 6.5)."""
HEAD_BYTES = 9
HANDSHAKE_SECONDS = 10.0
JOIN_SECONDS = 30.0
START_SECONDS = 60.0


class Kind(StrEnum):
    """How far the peers of a flood go."""

    NONE = "none"
    TCP = "TCP"
    HTTP2 = "TCP, HTTP/2"
    TLS = "TCP, TLS, HTTP/2"


@dataclass(slots=True)
class Flood:
    """What a flood has done."""

    handshakes: int = 0
    failed: int = 0
    seconds: float = 0.0
    handshake_seconds: list[float] = field(default_factory=list)
    """One for each handshake that was completed."""


@contextmanager
def gateway(certificate: Certificate | None = None) -> Iterator[int]:
    """Serve in a process of its own, with TLS where there is a certificate; yield the port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    environment = dict(os.environ)
    if certificate is not None:
        environment["HEADWORKS_RPC__CERTIFICATE_FILE"] = str(certificate.file)
        environment["HEADWORKS_RPC__CERTIFICATE_KEY_FILE"] = str(certificate.key_file)
    values = ("gateway", port, PACED.first_token_seconds, PACED.gap_seconds, PACED.tokens)
    command = [sys.executable, "-m", "bench.servers", *map(str, values)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        uvloop.run(until_answering(port, None if certificate is None else certificate.root))
        yield port
    finally:
        process.terminate()
        process.wait(JOIN_SECONDS)


async def until_answering(port: int, root: bytes | None) -> None:
    """Return when a whole turn works; raise TimeoutError when none does in time."""
    async with asyncio.timeout(START_SECONDS), channel_to(port, root) as channel:
        while True:
            try:
                return await turn(TurnServiceStub(channel), Sample())
            except grpc.aio.AioRpcError:
                await asyncio.sleep(0.2)


async def flood(port: int, tls: ssl.SSLContext | None, kind: Kind, at_once: int, seconds: float) -> Flood:
    """Connect and leave, `at_once` peers in parallel, for so long."""
    done = Flood()
    started = time.perf_counter()

    async def peer() -> None:
        while time.perf_counter() < started + seconds:
            began = time.perf_counter()
            try:
                async with asyncio.timeout(HANDSHAKE_SECONDS):
                    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
                    if kind is not Kind.TCP:
                        writer.write(PREFACE)
                        await reader.readexactly(HEAD_BYTES)
                    writer.transport.abort()
            except (OSError, TimeoutError, asyncio.IncompleteReadError):
                done.failed += 1
                continue
            done.handshakes += 1
            done.handshake_seconds.append(time.perf_counter() - began)

    await asyncio.gather(*(peer() for _ in range(at_once)))
    done.seconds = time.perf_counter() - started
    return done


def flood_process(out: Connection, port: int, root: bytes | None, kind: Kind, at_once: int, seconds: float) -> None:
    """Flood from a process of its own; tell first that it begins, then what was done."""
    tls = None
    if root is not None and kind is Kind.TLS:
        tls = ssl.create_default_context(cadata=root.decode())
        tls.set_alpn_protocols(["h2"])
    out.send(None)
    out.send(uvloop.run(flood(port, tls, kind, at_once, seconds)))
    out.close()


def channel_to(port: int, root: bytes | None) -> grpc.aio.Channel:
    """Make a channel; with a root it speaks TLS."""
    target = f"127.0.0.1:{port}"
    if root is None:
        return grpc.aio.insecure_channel(target)
    return grpc.aio.secure_channel(target, grpc.ssl_channel_credentials(root))


async def paced_turns(port: int, root: bytes | None, at_once: int, seconds: float) -> Sample:
    """Run turns, `at_once` of them in parallel, for so long; each begun turn is finished."""
    sample = Sample()
    async with channel_to(port, root) as channel:
        stub = TurnServiceStub(channel)
        await turn(stub, Sample())
        end = time.perf_counter() + seconds

        async def caller() -> None:
            while time.perf_counter() < end:
                await turn(stub, sample)

        await asyncio.gather(*(caller() for _ in range(at_once)))
    return sample


def measure(kind: Kind, root: bytes | None, port: int, given: argparse.Namespace) -> tuple[Sample, Flood]:
    """Run turns beside one kind of flood."""
    if kind is Kind.NONE:
        return uvloop.run(paced_turns(port, root, given.streams, given.seconds)), Flood(seconds=given.seconds)
    processes = multiprocessing.get_context("spawn")
    ours, theirs = processes.Pipe(duplex=False)
    work = (theirs, port, root, kind, given.at_once, given.seconds)
    flooding = processes.Process(target=flood_process, args=work)
    flooding.start()
    try:
        ours.poll(JOIN_SECONDS)
        ours.recv()
        sample = uvloop.run(paced_turns(port, root, given.streams, given.seconds))
        done = ours.recv() if ours.poll(JOIN_SECONDS) else Flood(seconds=given.seconds)
    finally:
        flooding.join(JOIN_SECONDS)
        flooding.kill()
    return sample, done


def row(kind: Kind, encryption: str, sample: Sample, done: Flood) -> tuple[str, ...]:
    """Return one line of the table."""
    rate = f"{done.handshakes / done.seconds:.0f}"
    handshake = f"{percentile(done.handshake_seconds, 99):.1f}" if done.handshake_seconds else "-"
    first, gaps = sample.first, sample.gaps
    return (
        *(encryption, kind.value, rate, str(done.failed), handshake),
        f"{percentile(first, 50):.1f} / {percentile(first, 99):.1f}",
        f"{percentile(gaps, 50):.1f} / {percentile(gaps, 99):.1f}",
    )


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=6.0, help="each row (default 6)")
    arguments.add_argument("--streams", type=int, default=16, help="turns at once (default 16)")
    arguments.add_argument("--at-once", type=int, default=50, help="peers of the flood at once (default 50)")
    given = arguments.parse_args()
    table = Table(title=f"{given.streams} paced turns beside a flood of handshakes (p50 / p99, milliseconds)")
    for name in ("turns", "flood", "handshakes/s", "failed", "handshake p99", "first token", "gap"):
        table.add_column(name, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        for certificate in (None, make_certificate(Path(folder))):
            root = certificate and certificate.root
            kinds = (Kind.NONE, Kind.TCP, Kind.TLS if certificate else Kind.HTTP2)
            with gateway(certificate) as port:
                for kind in kinds:
                    sample, done = measure(kind, root, port, given)
                    table.add_row(*row(kind, "TLS" if certificate else "in clear", sample, done))
    Console().print(table)


if __name__ == "__main__":
    main()
