"""Downloads go on where they stopped, and are not made twice."""

import hashlib
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from headworks.intake.build.download import DownloadSettings, fetch
from headworks.intake.build.errors import PullFailed, SourceUnreachable
from headworks.intake.build.hub import link_files
from headworks.intake.build.recipe import DOWNLOADS, Step
from headworks.intake.models.store import ModelKind, ModelStore
from tests.intake.models.test_store import SmallRecipe, build

WEIGHTS = bytes(range(256)) * 400
DIGEST = hashlib.sha256(WEIGHTS).hexdigest()


class Host(HTTPServer):
    """Serves `WEIGHTS`, from where it is asked to, and hears what was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str | None] = []
        self.stops_after = len(WEIGHTS)
        self.url = f"http://127.0.0.1:{self.server_port}/weights.bin"


class _Handler(BaseHTTPRequestHandler):
    server: Host

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.asked.append(asked)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        if start >= len(WEIGHTS):
            self.send_response(416)
            self.end_headers()
            return
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(WEIGHTS) - start))
        self.end_headers()
        self.wfile.write(WEIGHTS[start : self.server.stops_after])

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def host() -> Iterator[Host]:
    with Host() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def get(host: Host, to: Path, digest: str = DIGEST) -> None:
    fetch(host.url, to, digest, lambda done, total: None, DownloadSettings())


def test_whole_file_is_asked_for_once(host: Host, tmp_path: Path) -> None:
    """The digest tells that it is whole."""
    get(host, tmp_path / "weights.bin")
    get(host, tmp_path / "weights.bin")
    assert host.asked == [None]
    assert (tmp_path / "weights.bin").read_bytes() == WEIGHTS


def test_half_a_file_is_continued(host: Host, tmp_path: Path) -> None:
    """What arrived is kept, and the sentence says to run it again."""
    host.stops_after = 1000
    with pytest.raises(SourceUnreachable, match="run this again"):
        get(host, tmp_path / "weights.bin")
    host.stops_after = len(WEIGHTS)
    get(host, tmp_path / "weights.bin")
    assert host.asked == [None, "bytes=1000-"]
    assert (tmp_path / "weights.bin").read_bytes() == WEIGHTS


def test_wrong_file_is_thrown_away(host: Host, tmp_path: Path) -> None:
    """Going on from it would never end well."""
    with pytest.raises(PullFailed, match="SHA-256 is wrong"):
        get(host, tmp_path / "weights.bin", "0" * 64)
    assert not (tmp_path / "weights.bin").exists()


def test_dead_host_is_one_sentence(tmp_path: Path) -> None:
    """With its name."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(SourceUnreachable, match=f"127.0.0.1:{port} cannot be reached"):
        fetch(f"http://127.0.0.1:{port}/a", tmp_path / "a", DIGEST, lambda done, total: None, DownloadSettings())


@dataclass
class FetchingRecipe(SmallRecipe):
    """Downloads, then breaks as often as it is told to."""

    url: str = ""
    failures: list[str] = field(default_factory=list)

    def build(self, into: Path, downloads: Path, step: Step) -> Mapping[str, str]:
        fetch(self.url, downloads / "weights.bin", DIGEST, lambda done, total: None, DownloadSettings())
        (into / "weights.bin").write_bytes((downloads / "weights.bin").read_bytes())
        if self.failures:
            raise PullFailed(self.failures.pop())
        return {}


def test_download_of_a_failed_build_is_not_made_again(host: Host, tmp_path: Path) -> None:
    """An export that fails must not cost another gigabyte."""
    store, recipe = ModelStore(tmp_path), FetchingRecipe(url=host.url, failures=["the export failed"])
    with pytest.raises(PullFailed, match="the export failed"):
        build(store, recipe)
    build(store, recipe)
    assert host.asked == [None]
    assert store.find(ModelKind.VAD)
    assert not list((tmp_path / DOWNLOADS).iterdir())


def test_hub_files_get_a_second_name(tmp_path: Path) -> None:
    """Moved, they would go with a build that fails behind the download; the client's notes stay out of the model."""
    downloads, into = tmp_path / "downloads", tmp_path / "into"
    (downloads / "deep").mkdir(parents=True)
    (downloads / ".cache").mkdir()
    into.mkdir()
    for name in ("model.safetensors", "deep/config.json", ".cache/note"):
        (downloads / name).write_text(name)
    link_files(downloads, into)
    assert sorted(str(path.relative_to(into)) for path in into.rglob("*") if path.is_file()) == [
        "deep/config.json",
        "model.safetensors",
    ]
    assert (into / "model.safetensors").samefile(downloads / "model.safetensors")
