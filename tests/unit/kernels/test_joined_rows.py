"""Small tables of changed rows are put together before anything is done with them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from meltline.kernels.changed_rows import Rows, joined


def rows(sign: int, first: int, count: int, name: str = "id", bare: bool = False) -> Rows:
    places = np.arange(first, first + count)
    return Rows(sign, places, pa.table({name: places}), bare)


def test_rows_of_one_kind_are_joined_up_to_a_number() -> None:
    found = list(joined([rows(1, start, 3) for start in range(0, 24, 3)], 7))
    assert [len(one.positions) for one in found] == [9, 9, 6]
    assert [place for one in found for place in one.positions] == list(range(24))
    assert [id_ for one in found for id_ in one.table.column("id").to_pylist()] == list(range(24))


def test_other_signs_columns_and_bare_rows_stay_apart() -> None:
    given = [rows(1, 0, 1), rows(-1, 1, 1), rows(-1, 2, 1, bare=True), rows(-1, 3, 1, "other"),
             rows(-1, 4, 1, "other")]
    found = list(joined(given, 100))
    assert [(one.sign, one.bare, one.table.column_names, len(one.positions)) for one in found] == [
        (1, False, ["id"], 1), (-1, False, ["id"], 1), (-1, True, ["id"], 1),
        (-1, False, ["other"], 2)]


def test_no_rows() -> None:
    assert list(joined([], 10)) == []
