"""Bare rows among whole ones: what was only carried over still cancels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow

from meltline.kernels.changed_rows import Rows
from meltline.kernels.changes import Changes
from meltline.kernels.connection import connect
from meltline.model.table_view import TableView

SCHEMA = ('{"type":"struct","schema-id":0,"fields":['
          '{"id":1,"name":"id","required":false,"type":"long"},'
          '{"id":2,"name":"v","required":false,"type":"long"}]}')
VIEW = TableView("t", 1, 1, 0, SCHEMA, identifiers=(1,))


def rows(sign: int, ids: range, value: int, bare: bool = False) -> Rows:
    table = pa.table({"id": pa.array(ids, pa.int64()),
                      "v": pa.array([value] * len(ids), pa.int64())})
    table = table.cast(schema_to_pyarrow(VIEW.schema, include_field_ids=True))
    return Rows(sign, np.arange(len(ids)), table.select(["id"]) if bare else table, bare)


@pytest.mark.parametrize("sizes", [(10, 10, 10), (2499, 2099, 400), (51, 2048, 2100)])
def test_only_real_changes_are_told(sizes: tuple[int, int, int]) -> None:
    """Updated rows have a bare partner; others were removed and added again as they were."""
    changes = Changes(connect(), VIEW)
    updated, carried, inserted = sizes
    parts = [rows(1, range(updated), 7), rows(-1, range(updated), 0, bare=True),
             rows(-1, range(10_000, 10_000 + carried), 5),
             rows(1, range(20_000, 20_000 + inserted), 1),
             rows(1, range(10_000, 10_000 + carried), 5)]
    changed = pa.concat_tables(changes.pack(part, hashed=False) for part in parts)
    changed, paired = changes.settle(changed, with_before=False)
    found = changed.column("id").take(paired.at).to_pylist()
    assert dict(zip(found, paired.operation.to_pylist(), strict=True)) == {
        **{str(i): "UPDATE_AFTER" for i in range(updated)},
        **{str(i): "INSERT" for i in range(20_000, 20_000 + inserted)}}
    assert all(row is not None for row in changed.column("row").take(paired.at).to_pylist())
