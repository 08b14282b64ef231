"""What intake costs, each kind beside the library called directly on the same bytes in the same process.

Run: python -m bench.intake
"""

import argparse
import os
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.image_and_table import measure_images, measure_tables
from bench.voice import measure_voice
from headworks.intake.models.store import ModelStore


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--store", type=Path, default=os.environ.get("HEADWORKS_MODELS__STORE", ".headworks/models"))
    arguments.add_argument("--repeats", type=int, default=3, help="runs a row, of which the median is printed")
    options = arguments.parse_args()
    store = ModelStore(Path(options.store))
    rows = [
        *measure_voice(store, options.repeats),
        *measure_images(store, options.repeats),
        *measure_tables(options.repeats),
    ]
    table = Table("input", "ours", "library directly", "ratio", "unit", title="Intake, medians")
    for column in table.columns[1:4]:
        column.justify = "right"
    for row in rows:
        table.add_row(row.what, f"{row.ours:.0f}", f"{row.direct:.0f}", f"{row.ours / row.direct:.2f}", row.unit)
    Console().print(table)


if __name__ == "__main__":
    main()
