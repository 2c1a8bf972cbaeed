"""Positions as packed bits."""

from __future__ import annotations

import numpy as np
import pytest

from meltline.kernels.position_mask import merge_positions, pack_positions, unpack_positions


def pack(*positions: int) -> bytes:
    return pack_positions(np.array(positions, np.int64))


@pytest.mark.parametrize("positions", [(), (0,), (7,), (8,), (3, 9, 10), (99,), tuple(range(100))])
def test_there_and_back(positions: tuple[int, ...]) -> None:
    mask = unpack_positions(pack(*positions), 100)
    assert len(mask) == 100
    assert tuple(np.flatnonzero(mask)) == positions


def test_merged() -> None:
    merged = merge_positions([pack(1, 20), pack(), pack(3), pack(20, 99)])
    assert list(np.flatnonzero(unpack_positions(merged, 100))) == [1, 3, 20, 99]
    assert not unpack_positions(merge_positions([]), 5).any()


def test_many_are_small() -> None:
    assert len(pack(*range(1_000_000))) < 1000
