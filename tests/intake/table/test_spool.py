"""The temporary folder of uploads: full, unwritable, gone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headworks.intake.errors import SpoolUnavailable
from headworks.intake.table.settings import TableSettings
from headworks.intake.table.spool import Spool, check_spool
from headworks.intake.table.upload import Upload

FULL = """
import os, resource, sys
from headworks.intake.errors import SpoolUnavailable
from headworks.intake.table.settings import TableSettings
from headworks.intake.table.spool import check_spool
from headworks.intake.table.upload import Upload

folder, chunk_bytes = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
upload = Upload(1, TableSettings(spool_folder=folder))
try:
    for _ in range(50_000 // chunk_bytes):
        upload.feed(b"x," * (chunk_bytes // 2 - 1) + b"1\\n")
    upload.finish()
except SpoolUnavailable as error:
    print(error)
upload.close()
try:
    check_spool(folder)
except SpoolUnavailable:
    print("the check fails")
print(os.listdir(folder))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
check_spool(folder)
"""
"""A limit on the size of a file stands for a full folder: writes beyond it fail in the same way."""


@pytest.mark.parametrize("chunk_bytes", [10, 1000, 50_000])
def test_full_folder_is_named_and_left_empty(tmp_path: Path, chunk_bytes: int) -> None:
    """A spool that stays behind keeps the folder full, and every later table fails (simpler-grants-gov PR#7819)."""
    command = [sys.executable, "-c", FULL, str(tmp_path), str(chunk_bytes)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines == [
        "the temporary folder (intake.table.spool_folder) takes no table: File too large",
        "the check fails",
        "[]",
    ]


def test_folder_that_does_not_exist_takes_no_table(tmp_path: Path) -> None:
    """A container without a writable temporary folder must say so at start, not at the first table."""
    missing = str(tmp_path / "missing")
    for attempt in (lambda: check_spool(missing), lambda: Upload(1, TableSettings(spool_folder=missing))):
        with pytest.raises(SpoolUnavailable, match="No such file or directory") as caught:
            attempt()
        assert str(tmp_path) not in str(caught.value)


def test_check_leaves_nothing_behind(tmp_path: Path) -> None:
    """It may run again and again."""
    check_spool(str(tmp_path))
    assert not os.listdir(tmp_path)


def test_replaced_file_is_the_one_that_is_read(tmp_path: Path) -> None:
    """The new bytes may be made from the old ones while these are read."""
    with Spool(str(tmp_path)) as spool:
        spool.write(b"abc")
        spool.finish()
        with spool.path.open("rb") as old:
            spool.replace(byte.upper() for byte in iter(lambda: old.read(1), b""))
        assert spool.path.read_bytes() == b"ABC"
    assert not os.listdir(tmp_path)
