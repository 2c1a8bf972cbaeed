"""Lanes in their threads: once, again after failures, side by side, and until told to stop."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from meltline.engine.lane import Lane, LanePlan, SinkEnd
from meltline.engine.ledger import new_owner
from meltline.engine.pace import Pace
from meltline.engine.report import TaskReport
from meltline.engine.runner import ONCE_RETRIES, LaneRunner, run_lanes
from meltline.engine.work import TaskWork
from meltline.errors import EventsRejected, Fenced, Retryable
from meltline.testing import (
    FakeClock,
    FakeStop,
    ListSource,
    MemoryLedger,
    MemorySink,
    Recorder,
    run_here,
)
from tests.unit.engine.lanes import bodies

PACE = Pace(poll=timedelta(seconds=30), commit=timedelta(minutes=5))


def lane(source: ListSource, sink: MemorySink, name: str = "l") -> Lane:
    owner = new_owner()
    ledger = MemoryLedger().as_seen_by(owner)
    return Lane(LanePlan("p", name, source, (SinkEnd(sink),)), ledger, owner, run_here, FakeClock())


def runner(sink: MemorySink, count: int = 25, **changes: Any) -> tuple[LaneRunner, Recorder]:
    recorder = Recorder()
    made = LaneRunner(lane(ListSource(bodies(0, count)), sink), PACE, recorder, **{
        "stop": FakeStop(), **changes})
    return made, recorder


def waited(made: LaneRunner) -> list[float]:
    assert isinstance(made.stop, FakeStop)
    return made.stop.waited


def test_once_runs_until_nothing_is_left() -> None:
    sink = MemorySink()
    made, recorder = runner(sink, once=True)
    made.run()
    assert sink.rows == bodies(0, 25)
    assert recorder.told == ["started", "done"] * 3 + ["started", "idle", "stopped"]
    assert recorder.stopped_by == {"l": None}
    assert waited(made) == []


def test_a_backlog_is_not_made_to_wait() -> None:
    sink = MemorySink()
    made, _ = runner(sink, stop=FakeStop(waits=4))
    made.run()
    assert sink.rows == bodies(0, 25)
    backlog, more, last, idle = waited(made)
    assert (backlog, more, idle) == (0.0, 0.0, 30.0)
    assert 290 < last <= 300


def test_failures_are_tried_again_ever_later() -> None:
    sink = MemorySink(failures=[Retryable(f"no {number}") for number in range(3)])
    made, recorder = runner(sink, 10, once=True)
    made.run()
    assert recorder.failures == [("no 0", 1.0), ("no 1", 2.0), ("no 2", 4.0)]
    assert waited(made) == [1.0, 2.0, 4.0]
    assert sink.rows == bodies(0, 10)
    assert made.error is None


def test_the_wait_begins_anew_after_a_success() -> None:
    sink = MemorySink(failures=[Retryable("no"), Retryable("no")])
    made, recorder = runner(sink, 10, once=True)
    made.loop()
    sink.failures.append(Retryable("no"))
    source = made.lane.plan.source
    assert isinstance(source, ListSource)
    source.bodies += bodies(10, 12)
    made.loop()
    assert [wait for _, wait in recorder.failures] == [1.0, 2.0, 1.0]


def test_once_gives_up_after_some_tries() -> None:
    sink = MemorySink(failures=[Retryable("no")] * 20)
    made, recorder = runner(sink, once=True)
    made.run()
    assert len(recorder.failures) == ONCE_RETRIES
    assert isinstance(made.error, Retryable)
    assert recorder.stopped_by == {"l": made.error}


def test_without_once_it_never_gives_up() -> None:
    """Not after a day either: the wait must not overflow."""
    tries = 0

    def down_for_long(works: Sequence[TaskWork], description: str) -> list[TaskReport]:
        nonlocal tries
        tries += 1
        if tries <= 1500:
            raise Retryable("no")
        return run_here(works, description)

    sink = MemorySink()
    made, recorder = runner(sink, 5, stop=FakeStop(waits=1501))
    made.lane.run_tasks = down_for_long
    made.run()
    assert len(recorder.failures) == 1500
    assert max(waited(made)[:-1]) == 60.0
    assert sink.rows == bodies(0, 5)
    assert made.error is None


def test_a_policy_of_no_retries() -> None:
    made, recorder = runner(MemorySink(failures=[Retryable("no")]), retry=False)
    made.run()
    assert isinstance(made.error, Retryable)
    assert recorder.told == ["started", "stopped"]


@pytest.mark.parametrize("error", [Fenced("newer"), EventsRejected("bad"), KeyError("bug")])
def test_what_a_retry_cannot_cure_stops_the_lane(error: Exception) -> None:
    made, recorder = runner(MemorySink(failures=[error]), once=True)
    made.run()
    assert made.error is error
    assert recorder.told == ["started", "stopped"]
    assert waited(made) == []


def test_a_failing_start_is_tried_again() -> None:
    class Sleepy(MemorySink):
        asked = 0

        def token(self, pipeline: str, lane: str) -> Any:
            self.asked += 1
            if self.asked == 1:
                raise Retryable("not yet")
            return super().token(pipeline, lane)

    sink = Sleepy()
    made, recorder = runner(sink, 5, once=True)
    made.run()
    assert recorder.told == ["failed", "started", "done", "started", "idle", "stopped"]
    assert sink.rows == bodies(0, 5)


def test_a_set_stop_runs_nothing() -> None:
    stop = FakeStop()
    stop.set()
    sink = MemorySink()
    made, recorder = runner(sink, stop=stop)
    made.run()
    assert sink.rows == []
    assert recorder.told == ["stopped"]


def test_a_running_epoch_is_finished_before_the_stop() -> None:
    class Stopping(MemorySink):
        def publish(self, *args: Any) -> Any:
            made.stop.set()
            return super().publish(*args)

    sink = Stopping()
    made, recorder = runner(sink)
    made.run()
    assert sink.rows == bodies(0, 10)
    assert recorder.told == ["started", "done", "stopped"]
    state = made.lane.ledger.load("l")
    assert state is not None
    assert state.pending is None


def test_a_failing_lane_leaves_the_others_alone() -> None:
    recorder = Recorder()
    good, bad, late = MemorySink("good"), MemorySink("bad"), MemorySink("late")
    bad.failures.append(Fenced("newer"))
    late.failures.append(Retryable("once"))
    runners = [LaneRunner(lane(ListSource(bodies(0, 25)), sink, sink.name), PACE, recorder, True)
               for sink in (bad, good, late)]
    errors = run_lanes(runners, FakeStop())
    assert [str(error) for error in errors] == ["newer"]
    assert good.rows == late.rows == bodies(0, 25)
    assert bad.rows == []
    assert set(recorder.stopped_by) == {"good", "bad", "late"}


def test_one_stop_ends_all_lanes() -> None:
    """The second lane to publish stops both; the first one is waiting for its next epoch."""
    stop = threading.Event()
    published: set[str] = set()

    class Counting(MemorySink):
        def publish(self, *args: Any) -> Any:
            done = super().publish(*args)
            published.add(self.name)
            if len(published) == 2:
                stop.set()
            return done

    made = [Counting("one"), Counting("two")]
    runners = [LaneRunner(lane(ListSource(bodies(0, 5)), sink, sink.name), PACE, Recorder())
               for sink in made]
    assert run_lanes(runners, stop) == []
    assert all(sink.rows == bodies(0, 5) for sink in made)


def test_no_lanes() -> None:
    assert run_lanes([], FakeStop()) == []
