"""What tables may cost, while they are read and while they are kept."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableSettings:
    """Limits on one table, from its upload to its text."""

    spool_folder: str = ""
    """Where uploads wait until they are read, each for seconds; "" is the system's temporary folder (`TMPDIR`)."""
    max_bytes: int = 64 * 1024 * 1024
    """Upload size; more belongs in a warehouse that the model asks."""
    max_rows: int = 2_000_000
    """Counted by the Parquet footer, or while CSV is read."""
    max_columns: int = 1000
    """DuckDB and a prompt both get slow beyond; Parquet counts leaves."""
    max_line_bytes: int = 1024 * 1024
    """One CSV row, its quoted fields included."""
    max_footer_bytes: int = 4 * 1024 * 1024
    """Parquet metadata; 1000 columns in 20 row groups need about 2 MiB."""
    max_uncompressed_bytes: int = 512 * 1024 * 1024
    """What a Parquet footer says its pages hold. A value in a list counts as 16 bytes at least, because a page of a few
    bytes can repeat one value millions of times."""
    max_memory_bytes: int = 512 * 1024 * 1024
    """DuckDB's memory for one table, while it is read and in each later query. It never spills to disk."""
    max_text_characters: int = 64 * 1024 * 1024
    """Text that the CONTAINS filters of one query may make at once of lists, records and binary values, by an upper
    bound. DuckDB makes it outside of `max_memory_bytes` and cannot be interrupted meanwhile."""
    max_seconds: int = 20
    """Reading and profiling one table together, and each later query; DuckDB is interrupted then."""
    threads: int = 1
    """DuckDB's threads for one table, the caller's included: a kept table has one less. How many tables are read or
    asked at once is set by `intake.table_work.threads`."""
    max_prompt_tokens: int = 1024
    """The text form: schema, profile and sample rows."""
    max_sample_rows: int = 100
    """Rows in the text form, however short they are."""
    max_cell_characters: int = 80
    """A longer cell is cut in the text form, with an ellipsis."""
    max_profile_characters: int = 200
    """A longer minimum or maximum is cut in the profile."""


@dataclass(frozen=True, slots=True)
class TableStoreSettings:
    """How much is kept; the least recently used goes first."""

    max_tables: int = 64
    """However small. Where one more comes, the table used longest ago is dropped."""
    max_bytes: int = 1024 * 1024 * 1024
    """Memory of all tables together. Each has a DuckDB of its own, which takes 8 MiB beside its rows."""
    max_age_seconds: int = 3600
    """Since the table was last used; a conversation about it is over by then."""
    max_rows_per_query: int = 500
    """Rows in a page."""
    max_page_characters: int = 1024 * 1024
    """Text in a page. It ends before the row that would make it longer, and the rest is the next page. A cell over its
    share (this, divided by the number of columns) is cut with an ellipsis, so that one row always fits."""
