"""At most one change per key, before-images only when asked for."""

from __future__ import annotations

import random

import pyarrow as pa

from meltline.kernels.connection import connect
from meltline.kernels.pairing import pair

Row = tuple[str, int, int]


def paired(rows: list[Row], with_before: bool = False) -> tuple[list[tuple[str, Row]], int]:
    keys = pa.table({"id": pa.array([row[0] for row in rows], pa.string()),
                     "sign": pa.array([row[1] for row in rows], pa.int8()),
                     "h1": pa.array([row[2] for row in rows], pa.uint64()),
                     "h2": pa.array([0] * len(rows), pa.uint64())})
    with connect() as connection:
        found = pair(connection, keys, with_before)
    picked = [rows[i] for i in found.at.to_pylist()]
    return list(zip(found.operation.to_pylist(), picked, strict=True)), found.duplicates


def test_each_kind_of_change() -> None:
    rows = [("new", 1, 1), ("gone", -1, 2), ("both", -1, 3), ("both", 1, 4)]
    assert paired(rows) == ([("INSERT", rows[0]), ("DELETE", rows[1]), ("UPDATE_AFTER", rows[3])],
                            0)


def test_before_images_stand_before_their_after_images() -> None:
    rows = [("b", 1, 4), ("a", 1, 1), ("b", -1, 3)]
    assert paired(rows, True)[0] == [
        ("UPDATE_BEFORE", rows[2]), ("UPDATE_AFTER", rows[0]), ("INSERT", rows[1])]


def test_duplicates_are_counted_and_chosen_alike_in_any_order() -> None:
    rows = [("a", 1, 5), ("a", 1, 9), ("a", -1, 1), ("a", 1, 7), ("b", -1, 2), ("b", -1, 3)]
    for seed in range(10):
        mixed = rows[:]
        random.Random(seed).shuffle(mixed)
        changes, duplicates = paired(mixed)
        assert sorted(changes) == [("DELETE", ("b", -1, 3)), ("UPDATE_AFTER", ("a", 1, 9))]
        assert duplicates == 3


def test_nothing_gives_nothing() -> None:
    assert paired([]) == ([], 0)
