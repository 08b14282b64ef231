"""Reads tables in tests, and frees them."""

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from headworks.intake.table.settings import TableSettings
from headworks.intake.table.table import Table, read_table
from headworks.intake.table.upload import Upload


@contextmanager
def opened(data: bytes, settings: TableSettings | None = None, part: int = 1) -> Iterator[Table]:
    limits = settings or TableSettings()
    with Upload(part, limits) as upload:
        upload.feed(data)
        upload.finish()
        table = read_table(part, upload, limits)
    try:
        yield table
    finally:
        table.close()


def parquet(columns: Mapping[str, Any], **options: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), buffer, **options)
    return buffer.getvalue()
