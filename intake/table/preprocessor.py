"""Reads the bytes of a table part, and yields its profile and sample rows."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from headworks.intake.finding import Finding, Read
from headworks.intake.span import Modality, Span, TableOrigin
from headworks.intake.table.settings import TableSettings
from headworks.intake.table.store import TableStore
from headworks.intake.table.table import Table, read_table
from headworks.intake.table.text import CELL_SLACK, CountTokens, TableText, write_text
from headworks.intake.table.upload import Upload
from headworks.intake.work import WorkPool


class TablePreprocessor:
    """Reads one CSV or Parquet part, keeps its rows in the store, and yields one `Read` at its end."""

    def __init__(
        self, part: int, owner: str, store: TableStore, pool: WorkPool, count: CountTokens, settings: TableSettings
    ) -> None:
        """Take what it needs.

        Args:
            owner: The tenant who may ask for the rows later.
            count: Tokens of a text, by the served model (`ModelTokenizer.encode_plain`).
        """
        self._part = part
        self._owner = owner
        self._store = store
        self._pool = pool
        self._count = count
        self._settings = settings
        self._is_over = False

    async def process(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[Finding, None]:
        """See `Preprocessor`."""
        upload = Upload(self._part, self._settings)
        try:
            async for chunk in chunks:
                upload.feed(chunk)
            upload.finish()
            finding = await self._pool.run(self._read, upload)
        finally:
            self._is_over = True
            upload.close()
        yield finding

    def _read(self, upload: Upload) -> Read:
        table = read_table(self._part, upload, self._settings)
        try:
            rows = table.sample(self._settings.max_sample_rows, CELL_SLACK * self._settings.max_cell_characters)
            text = write_text(table.profile, rows, self._count, self._settings)
        except BaseException:
            table.close()
            raise
        if self._is_over:
            # The turn ended while DuckDB worked: nobody will ask for this table.
            table.close()
            raise asyncio.CancelledError
        table_id = self._store.put(table, self._owner)
        return Read(self._part, table_id, table.profile, self._spans(table, text))

    def _spans(self, table: Table, text: TableText) -> tuple[Span, ...]:
        names = tuple(column.name for column in table.profile.columns)
        shown = names[: text.shown_columns]
        spans = [Span(Modality.TABLE, self._part, text.profile, TableOrigin(0, table.profile.rows, shown))]
        if text.rows:
            spans.append(Span(Modality.TABLE, self._part, text.rows, TableOrigin(0, text.shown_rows, names)))
        return tuple(spans)
