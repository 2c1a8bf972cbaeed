"""Reports of tasks and their sum."""

from __future__ import annotations

import pytest

from meltline.engine.report import SAMPLES, SinkReport, TaskReport, total

FULL = TaskReport(
    shard=1, read=10, size=2000, undecodable=2, unrouted=1, skipped=3,
    sinks=(SinkReport(5, 2, ("a", "é"), ("f1", "f2"), {"struct": {"x": "long"}}),
           SinkReport(rows=2)),
    letters={"dlq": ("l1",), "other": ("l2", "l3")}, samples=("bad",), peak_rss=1 << 30)


@pytest.mark.parametrize("report", [FULL, TaskReport(0)], ids=["full", "empty"])
def test_a_report_comes_back(report: TaskReport) -> None:
    assert TaskReport.from_json(report.to_json()) == report


def test_the_sum_is_in_the_order_of_the_shards() -> None:
    other = TaskReport(
        shard=0, read=1, size=100, undecodable=1, unrouted=1, skipped=1,
        sinks=(SinkReport(1, 1, ("first",), ("f0",)), SinkReport(4, files=("g",))),
        letters={"dlq": ("l0",)}, samples=("worse",), peak_rss=1 << 31)
    assert total([FULL, other], 2) == TaskReport(
        shard=-1, read=11, size=2100, undecodable=3, unrouted=2, skipped=4,
        sinks=(SinkReport(6, 3, ("first", "a", "é"), ("f0", "f1", "f2"),
                          {"struct": {"x": "long"}}),
               SinkReport(6, files=("g",))),
        letters={"dlq": ("l0", "l1"), "other": ("l2", "l3")}, samples=("worse", "bad"),
        peak_rss=1 << 31)


def test_no_tasks_report_nothing() -> None:
    assert total([], 2) == TaskReport(-1, sinks=(SinkReport(), SinkReport()))


def test_few_samples_are_kept() -> None:
    many = tuple(f"reason {number}" for number in range(20))
    reports = [TaskReport(shard, sinks=(SinkReport(rejected=20, samples=many),), samples=many)
               for shard in range(3)]
    found = total(reports, 1)
    assert found.samples == found.sinks[0].samples == many[:SAMPLES]
    assert found.sinks[0].rejected == 60


def test_guesses_are_merged() -> None:
    guesses = [{"struct": {"a": "long"}}, None, {"struct": {"a": "double", "b": "string"}}]
    reports = [TaskReport(shard, sinks=(SinkReport(guess=guess),))
               for shard, guess in enumerate(guesses)]
    assert total(reports, 1).sinks[0].guess == {"struct": {"a": "double", "b": "string"}}
    assert total(reports[1:2], 1).sinks[0].guess is None
