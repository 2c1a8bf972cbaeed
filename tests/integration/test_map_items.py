"""Functions spread over Spark's tasks, and how their errors come back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from pyspark.sql import SparkSession

from meltline.engine.rounds import Piece
from meltline.errors import BaseMoved, Retryable, RunError
from meltline.spark.jobs import SparkJobs


def double(item: int, attempt: str) -> tuple[int, str]:
    return item * 2, attempt


def refuse(item: int, attempt: str) -> int:
    if item == 2:
        raise RunError("a file cannot be read", hint="rewrite it")
    return item


def vanish(item: int, attempt: str) -> int:
    raise BaseMoved("a file is gone")


def stumble(item: int, attempt: str) -> int:
    raise ValueError("no number")


def test_in_order_and_each_with_its_own_name(spark: SparkSession) -> None:
    found = SparkJobs(spark, "run").map(double, [1, 2, 3], "numbers", "pool")
    assert [value for value, _ in found] == [2, 4, 6]
    assert len({attempt for _, attempt in found}) == 3
    assert all(attempt.startswith("run.") for _, attempt in found)
    assert SparkJobs(spark, "run").map(double, [], "numbers", "pool") == []


def test_our_own_errors_keep_their_kind(spark: SparkSession) -> None:
    jobs = SparkJobs(spark, "run")
    with pytest.raises(RunError, match="cannot be read") as caught:
        jobs.map(refuse, [1, 2], "numbers", "pool")
    assert caught.value.hint == "rewrite it"
    with pytest.raises(BaseMoved, match="is gone"):
        jobs.map(vanish, [1], "numbers", "pool")
    with pytest.raises(Retryable, match="no number"):
        jobs.map(stumble, [1], "numbers", "pool")


def scatter(item: int) -> Iterator[Piece]:
    if item == 7:
        raise RunError("a file cannot be read", hint="rewrite it")
    if item == 8:
        raise ValueError("no number")
    for bucket in range(4):
        yield Piece(bucket, f"{item}.{bucket}".encode(), 1 << 30)


def gather(pieces: Sequence[Piece]) -> dict[int, list[str]]:
    if any(piece.content.startswith(b"9") for piece in pieces):
        raise RunError("too much of it")
    return {piece.bucket: [one.content.decode() for one in pieces if one.bucket == piece.bucket]
            for piece in pieces}


def test_pieces_of_a_bucket_meet_in_the_order_of_their_items(spark: SparkSession) -> None:
    jobs = SparkJobs(spark, "run")
    for items in ([3, 1, 2], [5]):
        found: dict[int, list[str]] = {}
        for part in jobs.meet(scatter, gather, items, 3, "numbers", "pool"):
            assert not part.keys() & found.keys()
            found |= part
        assert found == {bucket: [f"{item}.{bucket}" for item in items] for bucket in range(4)}
    assert jobs.meet(scatter, gather, [], 3, "numbers", "pool") == []


@pytest.mark.parametrize("others", [[], [1, 2]])
def test_errors_on_the_way_keep_their_kind(spark: SparkSession, others: list[int]) -> None:
    jobs = SparkJobs(spark, "run")
    with pytest.raises(RunError, match="cannot be read") as caught:
        jobs.meet(scatter, gather, [*others, 7], 2, "numbers", "pool")
    assert caught.value.hint == "rewrite it"
    with pytest.raises(RunError, match="too much"):
        jobs.meet(scatter, gather, [*others, 9], 2, "numbers", "pool")
    with pytest.raises(Retryable, match="no number"):
        jobs.meet(scatter, gather, [*others, 8], 2, "numbers", "pool")
