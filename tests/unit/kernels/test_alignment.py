"""Which rows make the difference between a source and its copy."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from meltline.kernels.alignment import differing
from meltline.kernels.connection import connect

Row = tuple[int, int]


def difference(
    source: Sequence[Row], copy: Sequence[Row], ages: Sequence[int] = ()
) -> tuple[list[Row], list[Row]]:
    """Rows are a key and a content, those of the source as young as `ages` says. What the copy is
    to get, and what it had."""
    rows = [*source, *copy]
    keys = pa.table({
        "k1": pa.array([key for key, _ in rows], pa.uint64()),
        "k2": pa.array([key for key, _ in rows], pa.uint64()),
        "h1": pa.array([100 * key + value for key, value in rows], pa.uint64()),
        "h2": pa.array([value for _, value in rows], pa.uint64()),
        "sign": pa.array([1] * len(source) + [-1] * len(copy), pa.int8()),
        "sequence": pa.array([*(ages or [1] * len(source)), *[99] * len(copy)], pa.int64())})
    with connect() as connection:
        spots = [int(spot) for spot in differing(connection, keys)]
    assert spots == sorted(spots)
    return ([rows[spot] for spot in spots if spot < len(source)],
            [rows[spot] for spot in spots if spot >= len(source)])


def test_equal_rows_make_none() -> None:
    assert difference([(1, 5), (2, 6)], [(2, 6), (1, 5)]) == ([], [])
    assert difference([], []) == ([], [])


def test_rows_of_one_side_and_rows_that_changed() -> None:
    assert difference([(1, 5), (2, 6), (3, 7)], [(2, 6), (3, 8), (4, 9)]) == (
        [(1, 5), (3, 7)], [(3, 8), (4, 9)])


def test_one_row_of_a_key_stands_for_several_of_the_source() -> None:
    assert difference([(1, 5), (1, 7), (1, 6)], []) == ([(1, 7)], [])
    assert difference([(1, 5), (1, 7), (1, 6)], [(1, 4)]) == ([(1, 7)], [(1, 4)])


def test_the_youngest_rows_go_first() -> None:
    assert difference([(1, 5), (1, 7), (1, 6)], [], ages=[2, 1, 2]) == ([(1, 6)], [])
    assert difference([(1, 5), (1, 7), (1, 6)], [(1, 7)], ages=[2, 1, 2]) == ([(1, 6)], [(1, 7)])


def test_a_copy_that_holds_one_of_these_is_left_alone() -> None:
    assert difference([(1, 5), (1, 7)], [(1, 7)]) == ([], [])
    assert difference([(1, 5), (1, 7)], [(1, 5)]) == ([], [])
    assert difference([(1, 5), (1, 5)], [(1, 5)]) == ([], [])


def test_several_rows_of_a_key_are_left_alone_where_the_source_has_the_same() -> None:
    assert difference([(1, 5), (1, 7)], [(1, 7), (1, 5)]) == ([], [])


def test_a_key_that_is_there_too_often_keeps_its_row() -> None:
    """A delete of the surplus row alone would take the other one along."""
    assert difference([(1, 5)], [(1, 5), (1, 7)]) == ([(1, 5)], [(1, 7)])
    assert difference([(1, 5)], [(1, 5), (1, 5)]) == ([(1, 5)], [(1, 5)])
