"""Carry-over is a multiset: duplicates count."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa

from meltline.kernels.connection import connect
from meltline.kernels.netting import survivors


def net(rows: list[tuple[int | None, int]]) -> list[int]:
    keys = pa.table({"h1": pa.array([key for key, _ in rows], pa.uint64()),
                     "h2": pa.array([7] * len(rows), pa.uint64()),
                     "sign": pa.array([sign for _, sign in rows], pa.int8())})
    with connect() as connection:
        return [int(one) for one in survivors(connection, keys)]


def test_removed_and_added_again_cancels() -> None:
    assert net([(1, -1), (2, -1), (1, 1), (2, 1)]) == []


def test_what_is_left_over_stays() -> None:
    assert net([(1, -1), (2, -1), (1, 1), (3, 1)]) == [1, 3]


def test_duplicates_count() -> None:
    assert net([(1, -1), (1, -1), (1, -1), (1, 1)]) == [0, 1]
    assert net([(1, -1), (1, 1), (1, 1)]) == [1]


def test_a_missing_half_is_a_value_like_any_other() -> None:
    assert net([(None, -1), (None, 1), (1, 1)]) == [2]


def test_random_multisets() -> None:
    generator = random.Random(5)
    rows = [(generator.randrange(40), generator.choice((-1, 1))) for _ in range(2000)]
    expected: Counter[int] = Counter()
    for key, sign in rows:
        expected[key] += sign
    found: Counter[int] = Counter()
    for index in net(list(rows)):
        found[rows[index][0]] += rows[index][1]
    assert found == Counter({key: count for key, count in expected.items() if count})
