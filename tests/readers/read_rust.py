"""iceberg-rust under DataFusion as a process: requests in, rows out. Run by `readers.py`.

Arguments and lines as in `read_duckdb.py`, but for the snapshot: iceberg-rust offers no time
travel to Python, so it must be null.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any


def main(packages: str, shared: str) -> None:
    sys.path[:0] = [packages, shared]
    values = importlib.import_module("values")
    for line in sys.stdin:
        location, snapshot = values.loads(line)
        try:
            if snapshot is not None:
                raise NotImplementedError("no time travel here")
            answer: dict[str, Any] = {"rows": rows(location)}
        except Exception as error:  # noqa: BLE001  # its errors have no common class
            answer = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(values.dumps(answer) + "\n")
        sys.stdout.flush()


def rows(location: str) -> list[dict[str, Any]]:
    datafusion = importlib.import_module("datafusion")
    core = importlib.import_module("pyiceberg_core.datafusion")
    table = core.IcebergDataFusionTable(
        identifier=["read", "table"], metadata_location=Path(location).as_uri(),
        file_io_properties={})
    context = datafusion.SessionContext()
    context.register_table("t", table)
    found: list[dict[str, Any]] = context.table("t").to_arrow_table().to_pylist()
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
