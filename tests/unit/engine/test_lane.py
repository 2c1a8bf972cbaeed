"""A lane from plan to done, over fakes that keep the real promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from meltline.engine.epoch import Epoch
from meltline.engine.lane import SinkEnd
from meltline.engine.ledger import LaneState
from meltline.engine.report import TaskReport
from meltline.engine.work import TaskWork
from meltline.errors import Fenced, Retryable
from meltline.model.plan import Plan, Position, Split
from meltline.testing import (
    ListSource,
    MemorySink,
    PowerCut,
    cut_power_at,
    run_here,
)
from tests.unit.engine.lanes import bodies, sinks, world


def test_every_event_once_epoch_after_epoch() -> None:
    here = world(25)
    results = here.run()
    [sink] = sinks(here)
    assert sink.rows == bodies(0, 25)
    assert list(sink.published) == [1, 2, 3]
    assert [result.epoch.number for result in results] == [1, 2, 3]
    assert [result.waiting for result in results] == [15, 5, 0]
    assert [result.report.read for result in results] == [10, 10, 5]
    assert [done.rows for result in results for done in result.published] == [10, 10, 5]


def test_nothing_to_read_is_no_epoch() -> None:
    here = world(0)
    assert here.start().run_epoch() is None
    assert here.ledger.load("l") is None


def test_sinks_are_asked_when_the_source_knows_what_it_reads() -> None:
    asked: list[str] = []

    class Source(ListSource):
        def splits(self, plan: Plan, parallelism: int, blobs: Any) -> Sequence[Split]:
            asked.append("splits")
            return super().splits(plan, parallelism, blobs)

    class Sink(MemorySink):
        def writer(self, epoch: Epoch) -> Any:
            asked.append("writer")
            return super().writer(epoch)

    here = world(10, Sink(), source=Source(bodies(0, 10)))
    here.run()
    assert asked == ["splits", "writer"]


def test_an_epoch_without_splits_only_moves_the_position() -> None:
    class Source(ListSource):
        def splits(self, plan: Plan, parallelism: int, blobs: Any) -> Sequence[Split]:
            return []

    class Sink(MemorySink):
        def writer(self, epoch: Epoch) -> Any:
            raise AssertionError(epoch)

    here = world(10, Sink(), source=Source(bodies(0, 10)))
    here.run()
    state = here.ledger.load("l")
    assert state is not None
    assert state.position == Position({"next": 10})


def test_what_the_ledger_says_after_an_epoch() -> None:
    here = world(10)
    here.clock.advance(5)
    here.run()
    assert here.ledger.load("l") == LaneState(
        1, Position({"next": 10}), None, {"memory": 1}, here.clock())
    assert here.source.forgotten == [Position({"next": 10})]


def test_a_new_driver_goes_on_where_the_last_one_stopped() -> None:
    here = world(10)
    here.run()
    here.source.bodies += bodies(10, 13)
    assert [result.epoch.number for result in here.run()] == [2]
    assert sinks(here)[0].rows == bodies(0, 13)


def test_epochs_are_cut_into_tasks_as_they_were_recorded() -> None:
    cuts: list[int] = []

    def counting(works: Sequence[TaskWork], description: str) -> list[TaskReport]:
        cuts.append(len(works))
        if len(cuts) == 1:
            raise Retryable("no")
        return run_here(works, description)

    here = world(10, parallelism=2)
    with pytest.raises(Retryable):
        here.run(run_tasks=counting)
    here.parallelism = 5
    here.source.bodies += bodies(10, 20)
    here.run(run_tasks=counting)
    assert cuts == [2, 2, 5]
    assert sinks(here)[0].rows == bodies(0, 20)


def test_tasks_know_their_place() -> None:
    seen: list[TaskWork] = []

    def looking(works: Sequence[TaskWork], description: str) -> list[TaskReport]:
        assert description == "p/l epoch 1"
        seen.extend(works)
        return run_here(works, description)

    here = world(10)
    here.run(run_tasks=looking)
    assert [work.place.shard for work in seen] == [0, 1]
    assert {(work.place.pipeline, work.place.lane, work.place.epoch, work.place.planned_at_ms)
            for work in seen} == {("p", "l", 1, here.clock())}


def test_a_failed_call_may_be_made_again() -> None:
    here = world(10)
    [sink] = sinks(here)
    sink.failures.append(Retryable("catalog does not answer"))
    lane = here.start()
    with pytest.raises(Retryable):
        lane.run_epoch()
    assert sink.rows == []
    assert lane.state.pending is not None
    result = lane.run_epoch()
    assert result is not None
    assert result.epoch.number == 1
    assert sink.rows == bodies(0, 10)
    assert lane.run_epoch() is None


def test_a_lost_answer_doubles_nothing() -> None:
    here = world(10)
    [sink] = sinks(here)
    sink.lost_answers.append(Retryable("no answer"))
    lane = here.start()
    with pytest.raises(Retryable):
        lane.run_epoch()
    result = lane.run_epoch()
    assert result is not None
    assert [done.repeated for done in result.published] == [True]
    assert sink.rows == bodies(0, 10)
    assert sink.journal == ["memory"]


def test_a_replay_skips_the_sinks_that_have_the_epoch() -> None:
    here = world(10, MemorySink("one"), MemorySink("two"))
    one, two = sinks(here)
    two.failures.append(Retryable("no"))
    lane = here.start()
    with pytest.raises(Retryable):
        lane.run_epoch()
    assert (one.rows, two.rows) == (bodies(0, 10), [])
    works: list[TaskWork] = []

    def looking(given: Sequence[TaskWork], description: str) -> list[TaskReport]:
        works.extend(given)
        return run_here(given, description)

    results = here.run(run_tasks=looking)
    assert {part.name for work in works for part in work.sinks} == {"two"}
    assert [(done.table, done.repeated) for done in results[0].published] == [
        ("one", True), ("two", False)]
    assert one.rows == two.rows == bodies(0, 10)


def test_an_epoch_that_all_sinks_have_is_only_marked_done() -> None:
    here = world(10)
    with pytest.raises(PowerCut):
        here.run(cut_power_at("publish"))

    def never(works: Sequence[TaskWork], description: str) -> list[TaskReport]:
        raise AssertionError("nothing is left to write")

    [result] = here.run(run_tasks=never)
    assert result.report == TaskReport(-1)
    assert result.rejected == {}
    assert sinks(here)[0].rows == bodies(0, 10)


def test_the_clock_of_an_epoch_is_that_of_its_plan() -> None:
    here = world(10)
    [sink] = sinks(here)
    sink.failures.append(Retryable("no"))
    planned = here.clock()
    with pytest.raises(Retryable):
        here.run()
    here.clock.advance(60_000)
    [result] = here.run()
    assert result.epoch.planned_at_ms == planned


def test_an_older_driver_is_fenced_by_the_ledger() -> None:
    here = world(20)
    older = here.start()
    older.run_epoch()
    newer = here.start()
    with pytest.raises(Fenced):
        older.run_epoch()
    newer.run_epoch()
    assert sinks(here)[0].rows == bodies(0, 20)


def test_an_older_driver_that_slept_before_publishing_is_fenced_by_the_table() -> None:
    """It has recorded and written its epoch; meanwhile the newer one has gone further."""
    here = world(20)

    def sleeping(works: Sequence[TaskWork], description: str) -> list[TaskReport]:
        written = run_here(works, description)
        if len(sinks(here)[0].published) == 0:
            here.run()
        return written

    with pytest.raises(Fenced, match=r"already holds epoch 2"):
        here.run(run_tasks=sleeping)
    assert sinks(here)[0].rows == bodies(0, 20)


def test_a_lost_ledger_is_rebuilt_from_the_tables() -> None:
    here = world(25)
    here.run()
    here.ledger.lanes.clear()
    here.source.bodies += bodies(25, 30)
    results = here.run()
    assert [result.epoch.number for result in results] == [3, 4]
    assert sinks(here)[0].rows == bodies(0, 30)


def test_an_old_copy_of_the_ledger_does_no_harm() -> None:
    here = world(25)
    lane = here.start()
    lane.run_epoch()
    copy = dict(here.ledger.lanes)
    here.run()
    here.ledger.lanes.update(copy)
    here.source.bodies += bodies(25, 30)
    here.run()
    assert sinks(here)[0].rows == bodies(0, 30)


def test_routes_lead_to_sinks() -> None:
    small, rest = MemorySink("small"), MemorySink("rest")
    here = world(10, ends=(SinkEnd(small, ("small",)), SinkEnd(rest, ("_default",))),
                 routes=(("small", "/n < 4"),))
    here.run()
    assert (small.rows, rest.rows) == (bodies(0, 4), bodies(4, 10))


def test_a_sink_without_events_is_not_published() -> None:
    some, none = MemorySink("some"), MemorySink("none")
    here = world(10, ends=(SinkEnd(some), SinkEnd(none, ("no",))), routes=(("no", "/n < 0"),))
    [result] = here.run()
    assert [done.table for done in result.published] == ["some"]
    assert none.published == {}
