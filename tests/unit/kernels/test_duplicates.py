"""Rows whose key another row has too: all but the youngest are left out."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pyarrow as pa

from meltline.kernels.connection import connect
from meltline.kernels.duplicates import duplicates

Place = tuple[int, int]


def left_out(rows: Sequence[tuple[int, int, Place]]) -> list[Place]:
    """Rows are two halves of a key's hash, and the file and the position."""
    keys = pa.table({
        "k1": pa.array([first for first, _, _ in rows], pa.uint64()),
        "k2": pa.array([second for _, second, _ in rows], pa.uint64()),
        "file": pa.array([place[0] for _, _, place in rows], pa.int32()),
        "pos": pa.array([place[1] for _, _, place in rows], pa.int64())})
    with connect() as connection:
        found = [int(spot) for spot in duplicates(connection, keys)]
    assert found == sorted(found)
    return sorted(rows[spot][2] for spot in found)


def test_a_key_of_one_row_is_kept() -> None:
    assert left_out([]) == []
    assert left_out([(1, 1, (0, 0)), (2, 2, (0, 1))]) == []


def test_half_a_hash_is_no_key() -> None:
    assert left_out([(1, 1, (0, 0)), (1, 2, (0, 1)), (2, 1, (0, 2))]) == []


def test_the_last_row_of_the_youngest_file_stays() -> None:
    assert left_out([(1, 1, (0, 5)), (1, 1, (1, 2)), (1, 1, (1, 3)), (1, 1, (0, 9))]) == [
        (0, 5), (0, 9), (1, 2)]


def test_whatever_the_order() -> None:
    generator = random.Random(3)
    rows = [(key, key, (generator.randrange(4), place))
            for place, key in enumerate(generator.choices(range(40), k=100))]
    youngest = {key: max(place for one, _, place in rows if one == key) for key, _, _ in rows}
    expected = sorted(place for key, _, place in rows if place != youngest[key])
    for _ in range(5):
        generator.shuffle(rows)
        assert left_out(rows) == expected
