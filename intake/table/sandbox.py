"""DuckDB in a box: memory only, one file to read, no network, no extensions, limits on memory, threads and time."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import duckdb

from headworks.intake.table.settings import TableSettings

_SECONDS_BETWEEN_INTERRUPTS = 0.05
_IDLE_BYTES = 8 * 1024 * 1024
"""An instance without a table: 64 of them took 6.7 MB of resident memory each, which DuckDB itself does not count."""


class Sandbox:
    """One DuckDB instance. Its queries run on the caller's thread; any number of threads may use it."""

    def __init__(self, settings: TableSettings, path: str) -> None:
        """Open an empty database that may read `path`, and nothing else on this machine."""
        self._settings = settings
        self._database = duckdb.connect(
            ":memory:",
            config={
                "threads": settings.threads,
                "async_threads": 0,
                "memory_limit": f"{settings.max_memory_bytes}B",
                "temp_directory": "",
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "allow_community_extensions": False,
                "allow_persistent_secrets": False,
            },
        )
        literal = "'" + path.replace("'", "''") + "'"
        self._database.execute(f"SET allowed_paths = [{literal}]")
        self._database.execute("SET enable_external_access = false")
        self._database.execute("SET TimeZone = 'UTC'")
        self._database.execute("SET lock_configuration = true")

    @property
    def memory_bytes(self) -> int:
        """What the instance holds, its tables and itself."""
        with self.cursor() as cursor:
            return one(cursor, "SELECT sum(memory_usage_bytes) FROM duckdb_memory()") + _IDLE_BYTES

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a connection whose queries are interrupted once it has lived for `max_seconds`.

        Raises:
            duckdb.ConnectionException: the sandbox is closed.
            duckdb.InterruptException: in the body, at the limit.
        """
        cursor = self._database.cursor()
        done = threading.Event()
        watch = threading.Thread(target=_interrupt_late, args=(cursor, self._settings.max_seconds, done), daemon=True)
        watch.start()
        try:
            yield cursor
        finally:
            done.set()
            watch.join()
            cursor.close()

    def close(self) -> None:
        """Free the memory once the queries that run have ended; may be called twice."""
        self._database.close()


def quote(identifier: str) -> str:
    """An SQL identifier from any text."""
    return '"' + identifier.replace('"', '""') + '"'


def one(cursor: duckdb.DuckDBPyConnection, query: str, values: Mapping[str, str | int] | None = None) -> int:
    """The only number that a query gives."""
    return int(cursor.execute(query, dict(values or {})).fetchall()[0][0])


def _interrupt_late(cursor: duckdb.DuckDBPyConnection, seconds: float, done: threading.Event) -> None:
    """Interrupt again and again, because an interrupt that falls between two statements is lost."""
    wait = seconds
    while not done.wait(wait):
        cursor.interrupt()
        wait = _SECONDS_BETWEEN_INTERRUPTS
