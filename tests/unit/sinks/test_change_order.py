"""Changes keep the order of the source, however DuckDB answers."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from meltline.kernels.connection import connect
from meltline.sinks.iceberg.keyed import _marked

OPERATION = "json_extract_string(body, '/op')"


@pytest.mark.parametrize("sizes", [(1, 70), (2, 19, 70), (63, 64, 1, 2048), (3000, 5, 3000)])
def test_events_of_small_and_large_files_stay_in_order(sizes: tuple[int, ...]) -> None:
    """DuckDB holds small batches back behind a join, and the long list of words becomes one."""
    pieces, begin = [], 0
    for size in sizes:
        bodies = [json.dumps({"op": "update", "n": n}) for n in range(begin, begin + size)]
        pieces.append(pa.table({"body": bodies, "ord": pa.array(range(begin, begin + size))}))
        begin += size
    with connect() as connection:
        connection.register("ready", pa.concat_tables(pieces))
        marked = _marked(connection, "ready", OPERATION)
    assert marked.column("ord").to_pylist() == list(range(begin))
    assert marked.column("n").to_pylist() == list(range(begin))
