"""Milliseconds per image and per megabyte of table, each beside the library called directly.

`measure_images` and `measure_tables` return rows for `bench/intake.py`; run alone, this prints them.
"""

import argparse
import asyncio
import io
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import duckdb
import numpy as np
from PIL import Image

from headworks.intake.image.ocr.model import OcrModel
from headworks.intake.image.preprocessor import ImageModels, ImagePreprocessor
from headworks.intake.image.settings import ImageSettings
from headworks.intake.models.store import ModelStore
from headworks.intake.onnx.settings import OnnxSettings
from headworks.intake.preprocessor import Preprocessor
from headworks.intake.table.preprocessor import TablePreprocessor
from headworks.intake.table.settings import TableSettings, TableStoreSettings
from headworks.intake.table.store import TableStore
from headworks.intake.work import WorkPool, WorkSettings

CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the table."""

    what: str
    ours: float
    """Median milliseconds, through the preprocessor."""
    direct: float
    """Median milliseconds, the library called directly on the same bytes in the same process."""
    unit: str
    """"ms/image" or "ms/MB"."""


def measure_images(store: ModelStore, repeats: int) -> list[Measured]:
    """The demo receipt and a page-sized scan, PNG; rapidocr with the same sessions is the ceiling."""
    receipt = (resources.files("headworks.server.cli.demo") / "receipt.png").read_bytes()
    ocr = OcrModel.load(store, OnnxSettings())
    pictures = (("receipt 480 x 372", receipt), ("page 1240 x 1754", _page(receipt)))
    return [_measure_image(name, data, ocr, repeats) for name, data in pictures]


def measure_tables(repeats: int, megabytes: int = 8) -> list[Measured]:
    """Numbers, dates and words as CSV and as Parquet; DuckDB reading and SUMMARIZEing the same file is the ceiling."""
    with tempfile.TemporaryDirectory() as folder:
        return [_measure_table(Path(folder) / f"table.{kind}", megabytes, repeats) for kind in ("csv", "parquet")]


def _measure_image(name: str, data: bytes, ocr: OcrModel, repeats: int) -> Measured:
    models, settings, pool = ImageModels(ocr, None), ImageSettings(), WorkPool("image", WorkSettings())
    ours = _median(lambda: _drain(ImagePreprocessor(1, models, pool, settings), data), repeats)
    direct = _median(lambda: _rapidocr(ocr, data), repeats)
    pool.close()
    return Measured(name, ours, direct, "ms/image")


def _measure_table(path: Path, megabytes: int, repeats: int) -> Measured:
    _write_table(path, megabytes)
    data, kind = path.read_bytes(), path.suffix[1:]
    size = len(data) / 1e6
    store, pool, settings = TableStore(TableStoreSettings()), WorkPool("table", WorkSettings()), TableSettings()
    ours = _median(lambda: _drain(TablePreprocessor(1, "bench", store, pool, len, settings), data), repeats)
    direct = _median(lambda: _duckdb(path, f"read_{kind}"), repeats)
    pool.close()
    store.close()
    return Measured(f"{kind} {size:.1f} MB", ours / size, direct / size, "ms/MB")


def _drain(preprocessor: Preprocessor, data: bytes) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(data), CHUNK_BYTES):
            yield data[start : start + CHUNK_BYTES]

    async def run() -> None:
        async for _ in preprocessor.process(chunks()):
            pass

    asyncio.run(run())


def _rapidocr(ocr: OcrModel, data: bytes) -> None:
    pixels = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    ocr._engine(np.ascontiguousarray(pixels[:, :, ::-1]))


def _duckdb(path: Path, reader: str) -> None:
    with duckdb.connect(config={"threads": TableSettings().threads}) as database:
        database.execute(f"CREATE TABLE t AS FROM {reader}(?)", [str(path)])
        database.execute("SUMMARIZE t").fetchall()


def _page(receipt: bytes) -> bytes:
    """Eight receipts on one page."""
    page, one = Image.new("L", (1240, 1754), 255), Image.open(io.BytesIO(receipt))
    for number in range(8):
        page.paste(one, (80 + 580 * (number % 2), 60 + 420 * (number // 2)))
    buffer = io.BytesIO()
    page.save(buffer, "PNG")
    return buffer.getvalue()


def _write_table(path: Path, megabytes: int) -> None:
    query = (
        "CREATE TABLE t AS SELECT range AS id, DATE '2020-01-01' + (range % 2000)::INTEGER AS day, hash(range) "
        "% 100000 / 100 AS price, 'customer ' || hash(range) % 5000 AS name, range % 7 = 0 AS paid FROM range($rows)"
    )
    with duckdb.connect() as database:
        database.execute(query, {"rows": megabytes * 20_000})
        database.execute(f"COPY t TO '{path}'")


def _median(work: Callable[[], None], repeats: int) -> float:
    """Milliseconds; one run before it counts."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, default=Path(".headworks/models"))
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"{'what':<20} {'ours':>9} {'direct':>9} {'ratio':>6}")
    for one in [*measure_images(ModelStore(options.store), options.repeats), *measure_tables(options.repeats)]:
        print(f"{one.what:<20} {one.ours:>9.1f} {one.direct:>9.1f} {one.ours / one.direct:>6.2f}  {one.unit}")


if __name__ == "__main__":
    main()
