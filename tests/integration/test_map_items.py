"""Functions spread over Spark's tasks, and how their errors come back."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

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
