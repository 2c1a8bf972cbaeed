"""Pieces come out of a task's arrivals as they were sent, wherever they waited."""

from __future__ import annotations

import random

import pytest

from meltline.engine.rounds import Piece
from meltline.spark.arrivals import Arrivals

SENT = [((origin, number), Piece(bucket, f"{bucket}/{origin}/{number}".encode(), 100))
        for bucket in (4, 0, 2) for origin in (1, 0) for number in (0, 2, 1)]
IN_ORDER = [piece for tag, piece in sorted(SENT, key=lambda one: (one[1].bucket, one[0]))]


def groups(held: int, together: int) -> list[list[Piece]]:
    arrivals = Arrivals(held, together)
    for tag, piece in random.Random(held).sample(SENT, len(SENT)):
        arrivals.add(tag, piece)
    return list(arrivals.groups())


@pytest.mark.parametrize("held", [0, 1, 12, 1000])
def test_pieces_are_handed_out_by_bucket_and_tag(held: int) -> None:
    assert groups(held, 2000) == [IN_ORDER]


@pytest.mark.parametrize("held", [0, 12, 1000])
def test_a_group_holds_whole_buckets_and_not_too_much(held: int) -> None:
    """By what they weigh, not by their size: they are compressed."""
    alone = [[one for one in IN_ORDER if one.bucket == bucket] for bucket in (0, 2, 4)]
    assert groups(held, 1) == alone
    assert groups(held, 1200) == [alone[0] + alone[1], alone[2]]


def test_nothing_arrived() -> None:
    assert list(Arrivals().groups()) == []
