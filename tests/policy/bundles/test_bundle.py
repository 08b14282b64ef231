import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.policy.bundles.bundle import pack, read_bundle
from headworks.policy.bundles.sources import DEFAULT_FOLDER, PolicySources, SourceLimits, read_folder
from headworks.policy.errors import PolicyBroken

MODULE = b"package headworks.turn\n"
MANIFEST = b'{"revision": "r1", "roots": ["headworks"]}'


def archive(*members: tuple[str, bytes], kind: bytes = tarfile.REGTYPE) -> bytes:
    """A bundle as anybody may make one; `kind` is that of its last member."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as tar:
        for place, (name, content) in enumerate(members):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            if place == len(members) - 1 and kind != tarfile.REGTYPE:
                member.type, member.linkname, member.size = kind, "/etc/passwd", 0
            tar.addfile(member, io.BytesIO(content))
    return written.getvalue()


def test_a_bundle_is_what_the_format_says() -> None:
    """Read with tarfile alone: gzip, a manifest with revision and roots, Rego and data.json."""
    bundle = pack(read_folder(DEFAULT_FOLDER))
    with tarfile.open(fileobj=io.BytesIO(bundle.content), mode="r:gz") as tar:
        assert tar.getnames() == [".manifest", "data.json", "headworks.rego"]
        manifest = json.load(tar.extractfile(".manifest") or io.BytesIO())
    assert manifest == {"revision": bundle.revision, "roots": ["headworks"], "rego_version": 1}
    assert bundle.etag == f'"{hashlib.sha256(bundle.content).hexdigest()}"'


def test_equal_files_give_equal_bytes(tmp_path: Path) -> None:
    """Else agents would fetch an unchanged policy again after each restart."""
    for name in ("data.json", "headworks.rego"):
        (tmp_path / name).write_bytes((DEFAULT_FOLDER / name).read_bytes())
    (tmp_path / "README.md").write_text("not policy")
    (tmp_path / "headworks_test.rego").write_text("package headworks.turn_test")
    assert pack(read_folder(tmp_path)) == pack(read_folder(DEFAULT_FOLDER))


def test_another_file_gives_another_revision_and_tag(tmp_path: Path) -> None:
    """Also when only the name changed."""
    (tmp_path / "a.rego").write_bytes(MODULE)
    first = pack(read_folder(tmp_path))
    (tmp_path / "a.rego").rename(tmp_path / "b.rego")
    second = pack(read_folder(tmp_path))
    assert first.revision != second.revision
    assert first.etag != second.etag


def test_what_is_packed_is_what_is_read(tmp_path: Path) -> None:
    """With data of folders at their place in the document."""
    (tmp_path / "own.rego").write_bytes(MODULE)
    (tmp_path / "headworks" / "tenants").mkdir(parents=True)
    (tmp_path / "headworks" / "tenants" / "data.json").write_text('{"acme": {"models": []}}')
    (tmp_path / "data.json").write_text('{"headworks": {"roles": {}}}')
    sources, revision = read_bundle(pack(read_folder(tmp_path)).content)
    assert sources == read_folder(tmp_path)
    assert revision == sources.revision
    assert sources.data() == {"headworks": {"roles": {}, "tenants": {"acme": {"models": []}}}}


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ({"data.json": "{}"}, "no .rego"),
        ({"a.rego": "package a", "data.yaml": "a: 1"}, "not YAML"),
        ({"a.rego": "x := 1"}, "names no package"),
        ({"a.rego": "package a", "data.json": "[1]"}, "JSON object"),
        ({"a.rego": "package a", "data.json": "{"}, "not JSON"),
        ({"a.rego": "package a", "data.json": '{"b": NaN}'}, "not JSON"),
        ({"a.rego": "package a", "data.json": '{"b": 1}', "b/data.json": '{"c": 1}'}, "second value"),
    ],
    ids=["no-rego", "yaml", "no-package", "list", "cut", "nan", "twice"],
)
def test_a_folder_that_is_no_policy_says_why(tmp_path: Path, files: dict[str, str], what: str) -> None:
    """At once, in one sentence (zalando/skipper#3120)."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(PolicyBroken, match=what.replace(".", r"\.")):
        pack(read_folder(tmp_path))


def test_long_paths_and_any_language_come_through_a_bundle(tmp_path: Path) -> None:
    """The older tar format has no room for them, and whoever had such a folder saw a stack at start."""
    (tmp_path / "own.rego").write_bytes(MODULE)
    folder = tmp_path / ("x" * 120) / ("y" * 120) / "región"
    folder.mkdir(parents=True)
    (folder / "data.json").write_text("{}")
    sources, _ = read_bundle(pack(read_folder(tmp_path)).content)
    assert sources == read_folder(tmp_path)


def test_a_file_name_that_is_not_utf8_says_so(tmp_path: Path) -> None:
    """A bundle and its revision are made of names that everybody can read."""
    (tmp_path / "own.rego").write_bytes(MODULE)
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.rego")).write_bytes(MODULE)
    with pytest.raises(PolicyBroken, match="not UTF-8"):
        read_folder(tmp_path)


def test_a_link_out_of_the_folder_is_left_out(tmp_path: Path) -> None:
    """A bundle is served to others; it holds the folder and nothing else."""
    outside = tmp_path / "outside"
    inside = tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "data.json").write_text('{"secret": 1}')
    (inside / "own.rego").write_bytes(MODULE)
    (inside / "data.json").symlink_to(outside / "data.json")
    assert [name for name, _ in read_folder(inside).files] == ["own.rego"]


def test_a_mounted_config_map_is_read_once(tmp_path: Path) -> None:
    """Kubernetes mounts links to a hidden link to a hidden folder (open-policy-agent/opa#782, #1109).

    The files of that folder were taken for more policy: each module twice, and its data under the folder's name.
    """
    version = tmp_path / "..2026_01_01_00_00_00.1"
    version.mkdir()
    (tmp_path / "..data").symlink_to(version.name)
    for name in ("data.json", "headworks.rego"):
        (version / name).write_bytes((DEFAULT_FOLDER / name).read_bytes())
        (tmp_path / name).symlink_to(f"..data/{name}")
    assert read_folder(tmp_path) == read_folder(DEFAULT_FOLDER)
    assert read_folder(tmp_path / "..data") == read_folder(DEFAULT_FOLDER)


GOOD = ((".manifest", MANIFEST), ("own.rego", MODULE))


@pytest.mark.parametrize("name", ["/own.rego", "./own.rego", "own.rego"])
def test_paths_as_opa_writes_them_are_read(name: str) -> None:
    """OPA's own `build` starts each with a slash."""
    sources, revision = read_bundle(archive(("/.manifest", MANIFEST), (name, MODULE)))
    assert (sources.files, revision) == ((("own.rego", MODULE),), "r1")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "damaged"),
        (b"garbage", "damaged"),
        (archive(*GOOD)[:60], "damaged"),
        (gzip.compress(b"no tar"), "damaged"),
        (archive(("own.rego", MODULE)), "no manifest"),
        (archive((".manifest", b"{"), ("own.rego", MODULE)), "not JSON"),
        (archive((".manifest", b"[]"), ("own.rego", MODULE)), "no revision"),
        (archive((".manifest", MANIFEST)), "no .rego"),
        (archive(*GOOD, ("own.rego", b"package other")), "twice"),
        (archive(*GOOD, ("../up.rego", MODULE)), "leaves its root"),
        (archive(*GOOD, ("a/../../up.rego", MODULE)), "leaves its root"),
        (archive(*GOOD, ("//etc/up.rego", MODULE)), "leaves its root"),
        (archive(*GOOD, ("C:/up.rego", MODULE)), "leaves its root"),
        (archive(*GOOD, ("a\\up.rego", MODULE)), "leaves its root"),
        (archive(*GOOD, ("link.rego", b""), kind=tarfile.SYMTYPE), "not a plain file"),
        (archive(*GOOD, ("hard.rego", b""), kind=tarfile.LNKTYPE), "not a plain file"),
        (archive(*GOOD, ("fifo.rego", b""), kind=tarfile.FIFOTYPE), "not a plain file"),
        (archive(*GOOD, ("big.rego", b"#" * 5000)), "max_file_bytes"),
        (archive(*GOOD, *((f"f{number}.rego", MODULE) for number in range(20))), "max_files"),
        (archive(*GOOD, *((f"f{number}.rego", b"#" * 3000) for number in range(4))), "max_bytes"),
        (gzip.compress(archive(*GOOD) * 2000 + bytes(2**22)), "damaged|max_bytes"),
    ],
)
def test_a_bad_bundle_is_broken_and_says_why(content: bytes, what: str) -> None:
    """Bundles may come over a network."""
    limits = SourceLimits(max_files=16, max_file_bytes=4096, max_bytes=10000)
    with pytest.raises(PolicyBroken, match=what):
        read_bundle(content, limits)


def test_a_bomb_stops_at_the_limit() -> None:
    """One member of a gigabyte of zeros claims to be a small one: the stream ends before it is unpacked."""
    bomb = archive(*GOOD, ("zeros.txt", bytes(2**24)))
    with pytest.raises(PolicyBroken, match="max_"):
        read_bundle(bomb, SourceLimits(max_file_bytes=2**30, max_bytes=2**16))


@given(st.binary(max_size=300) | st.binary(max_size=300).map(gzip.compress))
def test_no_bytes_break_the_reader(content: bytes) -> None:
    """Every failure is PolicyBroken."""
    with pytest.raises(PolicyBroken):
        read_bundle(content)


@given(
    st.dictionaries(st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8})?\.rego", fullmatch=True), st.just(MODULE), min_size=1),
    st.integers(0, 10**6),
)
def test_a_flipped_bit_never_gives_another_error(files: dict[str, bytes], place: int) -> None:
    """What was damaged on the way is refused, or is the same policy (a bit that gzip ignores)."""
    sources = PolicySources(tuple(sorted(files.items())))
    content = bytearray(pack(sources).content)
    content[place % len(content)] ^= 1
    try:
        read, _ = read_bundle(bytes(content))
    except PolicyBroken:
        return
    assert read == sources
