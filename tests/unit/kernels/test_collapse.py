"""Many changes of a key become the last one."""

from __future__ import annotations

import random
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from meltline.kernels.collapse import OP, collapse, collapse_sql
from meltline.kernels.connection import connect
from meltline.kernels.operation import DELETE, INSERT, UPDATE
from meltline.kernels.scatter import pack, scatter, unpack

Change = tuple[int, Any, Any]


def changes(*made: Change, type_: pa.DataType | None = None) -> pa.Table:
    ops, keys, values = zip(*made, strict=True) if made else ((), (), ())
    return pa.table({"k": pa.array(keys, type_ or pa.int64()), "v": pa.array(values, pa.string()),
                     OP: pa.array(ops, pa.int8())})


def collapsed(table: pa.Table, deduplicate: bool = False) -> tuple[list[Any], list[Any]]:
    with connect() as connection:
        done = collapse(connection, table, ["k"], deduplicate)
    return [tuple(row.values()) for row in done.rows.to_pylist()], done.keys.column(0).to_pylist()


CASES: list[tuple[str, list[Change], list[Any], list[Any]]] = [
    ("nothing", [], [], []),
    ("an insert is trusted to be new", [(INSERT, 1, "a")], [(1, "a")], []),
    ("two inserts: the last", [(INSERT, 1, "a"), (INSERT, 1, "b")], [(1, "b")], []),
    ("an update", [(UPDATE, 1, "a")], [(1, "a")], [1]),
    ("a delete", [(DELETE, 1, None)], [], [1]),
    ("inserted and deleted", [(INSERT, 1, "a"), (DELETE, 1, None)], [], [1]),
    ("deleted and inserted again", [(DELETE, 1, None), (INSERT, 1, "b")], [(1, "b")], [1]),
    ("in the order of the source", [(UPDATE, 2, "x"), (UPDATE, 1, "y"), (UPDATE, 2, "z")],
     [(1, "y"), (2, "z")], [1, 2]),
    ("a null value", [(UPDATE, 1, None)], [(1, None)], [1]),
]


@pytest.mark.parametrize(("made", "rows", "keys"), [c[1:] for c in CASES],
                         ids=[c[0] for c in CASES])
def test_the_last_change_wins(made: list[Change], rows: list[Any], keys: list[Any]) -> None:
    assert collapsed(changes(*made)) == (rows, keys)


def test_deduplicated_inserts_replace() -> None:
    table = changes((INSERT, 1, "a"), (INSERT, 2, "b"), (INSERT, 1, "c"))
    assert collapsed(table, deduplicate=True) == ([(2, "b"), (1, "c")], [2, 1])


@pytest.mark.parametrize(("type_", "keys"), [
    (pa.large_string(), ["a", "A", "", "a\0"]), (pa.decimal128(9, 2), [Decimal("1.10")]),
    (pa.uuid(), [uuid.UUID(int=1).bytes, uuid.UUID(int=2).bytes]),
    (pa.timestamp("us", tz="UTC"), [0, 1]), (pa.date32(), [0, 1]), (pa.large_binary(), [b"\0"]),
    (pa.bool_(), [True, False])], ids=str)
def test_keys_of_every_type(type_: pa.DataType, keys: list[Any]) -> None:
    storage = type_.storage_type if isinstance(type_, pa.BaseExtensionType) else type_
    column = pa.array(keys + keys, storage)
    if isinstance(type_, pa.BaseExtensionType):
        column = pa.ExtensionArray.from_storage(type_, column)
    table = pa.table({"k": column, "v": [str(n) for n in range(2 * len(keys))],
                      OP: pa.array([UPDATE] * 2 * len(keys), pa.int8())})
    rows, gone = collapsed(table)
    assert [value for _, value in rows] == [str(len(keys) + n) for n in range(len(keys))]
    assert len(gone) == len(keys)


def test_the_sql() -> None:
    assert collapse_sql(2, False) == (
        "SELECT max(n) AS n, arg_max(op, n) AS op, bool_or(op <> 0) AS gone "
        'FROM changes GROUP BY k0, k1 ORDER BY n')


@pytest.mark.parametrize("buckets", [1, 2, 7])
def test_scattered_changes_collapse_to_the_same(buckets: int) -> None:
    chance = random.Random(buckets)
    made = [(chance.choice([INSERT, UPDATE, DELETE]), chance.randrange(50), str(n))
            for n in range(400)]
    whole = changes(*made)
    rows, keys = [], []
    seen = 0
    with connect() as connection:
        for bucket, part in scatter(connection, whole, ["k"], buckets):
            assert 0 <= bucket < buckets
            unpacked, notes = unpack(pack(part, {"shard": "1"}))
            assert (unpacked.replace_schema_metadata(None), notes) == (part, {"shard": "1"})
            seen += part.num_rows
            more = collapsed(part)
            rows += more[0]
            keys += more[1]
    assert seen == len(made)
    expected = collapsed(whole)
    assert (sorted(rows), sorted(keys)) == (sorted(expected[0]), sorted(expected[1]))
