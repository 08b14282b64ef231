"""Parquet files that are good and look odd, and such that are not."""

import datetime
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pyarrow.parquet.encryption as pe  # type: ignore[import-untyped]
import pytest

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.table.settings import TableSettings
from tests.intake.table.tables import opened, parquet


@pytest.mark.parametrize(
    ("values", "least", "most"),
    [
        ([datetime.date(2025, 1, 1), datetime.date(9999, 12, 31)], "2025-01-01", "9999-12-31"),
        ([datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)], "0001-01-01 00:00:00", "9999-12-31 00:00:00"),
        (
            [Decimal("9." + "9" * 37), Decimal("-9." + "9" * 37)],
            "-9." + "9" * 37,
            "9." + "9" * 37,
        ),
        ([1.7e308, -1.7e308], "-1.7e+308", "1.7e+308"),
        ([2**63 - 1, -(2**63)], str(-(2**63)), str(2**63 - 1)),
    ],
)
def test_extreme_values_have_a_profile(values: list[Any], least: str, most: str) -> None:
    """An average that nobody shows must not refuse a good file (mukunku/ParquetViewer#55, duckdb/duckdb#9978)."""
    with opened(parquet({"id": [1, 2], "c": values})) as table:
        column = table.profile.columns[1]
    assert (column.minimum, column.maximum) == (least, most)


def test_csv_with_far_dates_has_a_profile() -> None:
    """The same for a CSV; "valid to 9999-12-31" is a habit of warehouses (duckdb/duckdb#25857)."""
    with opened(b"id,valid_to\n1,2025-01-01\n2,9999-12-31\n") as table:
        assert table.profile.columns[1].maximum == "9999-12-31"


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_encrypted_file_is_called_encrypted(plaintext_footer: bool) -> None:
    """Its magic bytes are PARE, or the usual ones where only the columns are encrypted (hardwood-hq/hardwood#600)."""
    with pytest.raises(BadMedia, match="table 1: the Parquet file is encrypted"), opened(encrypted(plaintext_footer)):
        pass


def test_damaged_text_is_the_senders_fault() -> None:
    """DuckDB meets some of it only when it takes a minimum from the file's statistics."""
    good = parquet({"name": ["aü", "b", "üc"]}, compression="none")
    places = [match.start() for match in re.finditer(b"\xc3\xbc", good)]
    faults = []
    for place in places:
        try:
            with opened(good[:place] + b"\xc3\x28" + good[place + 2 :]) as table:
                table.sample(10, 80)
        except BadMedia as error:
            faults.append(str(error))
    assert faults
    assert all(fault.startswith("table 1: ") for fault in faults)


def test_listed_values_count_as_what_they_take() -> None:
    """Two kilobytes of pages repeat a zero 60 million times; only the footer tells."""
    data = parquet({"c": pa.array([[0] * 60_000] * 1000, pa.list_(pa.int8()))})
    assert len(data) < 10_000
    with (
        pytest.raises(TooLarge, match=r"max_uncompressed_bytes allows 536870912, the input has 960000000"),
        opened(data),
    ):
        pass


def test_flat_column_of_one_value_is_no_bomb() -> None:
    """What repeats once per row is bounded by the rows."""
    with opened(parquet({"c": [0] * 100_000}), TableSettings(max_uncompressed_bytes=1_000_000)) as table:
        assert table.profile.rows == 100_000


class Keys(pe.KmsClient):  # type: ignore[misc]
    """Keeps a key beside the lock."""

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return key_bytes.hex().encode()

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        return bytes.fromhex(wrapped_key.decode())


def encrypted(plaintext_footer: bool) -> bytes:
    factory = pe.CryptoFactory(lambda _: Keys())
    properties = factory.file_encryption_properties(
        pe.KmsConnectionConfig(),
        pe.EncryptionConfiguration(footer_key="f", column_keys={"c": ["a"]}, plaintext_footer=plaintext_footer),
    )
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, pa.schema([("a", pa.int64())]), encryption_properties=properties) as writer:
        writer.write_table(pa.table({"a": list(range(100))}))
    return bytes(sink.getvalue())
