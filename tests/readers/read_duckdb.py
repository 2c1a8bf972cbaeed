"""DuckDB's own Iceberg reader as a process: requests in, rows out. Run by `readers.py`.

Arguments: the directory of its packages, the directory of `values.py`. Each line of standard
input is `[metadata location, snapshot id or null]`; each line of the answer is `{"rows": [...]}`
or `{"error": "..."}`.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

EXTENSIONS = ("avro", "httpfs", "iceberg")


def main(packages: str, shared: str) -> None:
    sys.path[:0] = [packages, shared]
    duckdb = importlib.import_module("duckdb")
    values = importlib.import_module("values")
    extensions = [next(Path(packages).glob(f"duckdb_extension_{name}/extensions/*/*"))
                  for name in EXTENSIONS]
    for line in sys.stdin:
        location, snapshot = values.loads(line)
        try:
            # a new one each time: an internal error makes a connection useless for good
            with duckdb.connect() as connection:
                for extension in extensions:
                    connection.execute(f"LOAD '{extension}'")
                connection.execute("SET TimeZone = 'UTC'")
                answer: dict[str, Any] = {"rows": rows(connection, location, snapshot)}
        except duckdb.Error as error:
            answer = {"error": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
        sys.stdout.write(values.dumps(answer) + "\n")
        sys.stdout.flush()


def rows(connection: Any, location: str, snapshot: int | None) -> list[dict[str, Any]]:
    at = "" if snapshot is None else f", snapshot_from_id => {snapshot}"
    found = connection.execute(f"SELECT * FROM iceberg_scan('{location}'{at})")
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


if __name__ == "__main__":
    main(*sys.argv[1:])
