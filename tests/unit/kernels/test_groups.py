"""Indices by number."""

from __future__ import annotations

import numpy as np

from meltline.kernels.groups import groups


def found(*numbers: int) -> list[tuple[int, list[int]]]:
    return [(number, some.tolist()) for number, some in groups(np.array(numbers, np.int32))]


def test_each_number_has_its_indices_in_order() -> None:
    assert found(3, 1, 3, 2, 1, 3) == [(1, [1, 4]), (2, [3]), (3, [0, 2, 5])]
    assert found(7) == [(7, [0])]
    assert found() == []
