"""Epochs that are written again, or planned anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from meltline.engine.lane import SETTLE_TRIES, SinkEnd
from meltline.errors import PlanLost, Retryable, RunError
from meltline.model.plan import Plan, Position, Split
from meltline.testing import (
    ListSource,
    MemoryLetters,
    MemorySink,
    PowerCut,
    cut_power_at,
)
from tests.unit.engine.lanes import bodies, sinks, world


def test_new_fields_are_settled_and_written_again() -> None:
    sink, plain = MemorySink("db.t", columns={"n"}), MemorySink("plain")
    here = world(0, sink, plain)
    here.source.bodies += ['{"n":1}', '{"n":2,"m":3}', '{"o":4}', *bodies(5, 12)]
    here.run()
    assert sink.columns == {"n", "m", "o"}
    assert sink.rows == plain.rows == here.source.bodies
    assert (sink.journal, plain.journal) == (["db.t"], ["plain"])


class Slow(MemorySink):
    """Somebody else adds the columns first: settling changes nothing any more."""

    def settle(self, guess: Any) -> bool:
        super().settle(guess)
        return False


def test_events_are_written_again_when_somebody_else_was_faster() -> None:
    sink = Slow("db.t", columns={"n"})
    here = world(0, sink)
    here.source.bodies += ['{"n":1}', '{"n":2,"m":3}']
    here.run()
    assert sink.rows == here.source.bodies


class Stubborn(MemorySink):
    """Never makes room."""

    settled = 0

    def settle(self, guess: Any) -> bool:
        self.settled += 1
        return True


def test_a_schema_that_does_not_settle_is_an_error() -> None:
    sink = Stubborn("db.t", columns={"n"})
    here = world(0, sink)
    here.source.bodies += ['{"n":1,"m":2}']
    with pytest.raises(RunError, match=r"the schema of db.t does not settle") as raised:
        here.run()
    assert not isinstance(raised.value, Retryable)
    assert (sink.settled, sink.rows) == (SETTLE_TRIES, [])


def test_rejects_count_after_the_schema_has_settled() -> None:
    """What was refused while the table was made is judged by the table."""
    letters = MemoryLetters()
    sink = MemorySink("db.t", refuses="x", columns=set())
    here = world(0, ends=(SinkEnd(sink, letters="letters"),), letters=(letters,))
    here.source.bodies += ['{"n":1}', '{"n":"x"}']
    [result] = here.run()
    assert result.rejected == {"db.t": 1}
    assert len(letters.letters) == 1


class Vanishing(ListSource):
    """Events up to `gone` expire: what was planned of them cannot be read any more."""

    gone = 0

    def plan(self, after: Position | None, blobs: Any) -> Plan | None:
        start = 0 if after is None else int(after.data["next"])
        return super().plan(Position({"next": max(start, self.gone)}), blobs)

    def splits(self, plan: Plan, parallelism: int, blobs: Any) -> Sequence[Split]:
        if plan.data["from"] < self.gone:
            raise PlanLost("the events have expired")
        return super().splits(plan, parallelism, blobs)


def test_an_epoch_that_can_never_be_read_is_planned_anew() -> None:
    source = Vanishing(bodies(0, 10))
    here = world(source=source)
    with pytest.raises(PowerCut):
        here.run(cut_power_at("record"))
    source.gone = 4
    (result,) = here.run()
    assert result.epoch.number == 1
    assert sinks(here)[0].rows == bodies(4, 10)
    state = here.ledger.load("l")
    assert state is not None
    assert (state.epoch, state.position) == (1, Position({"next": 10}))


def test_an_epoch_that_is_published_in_part_is_not_planned_anew() -> None:
    source = Vanishing(bodies(0, 10))
    here = world(10, MemorySink("one"), MemorySink("two", failures=[Retryable("no")]),
                 source=source)
    with pytest.raises(Retryable):
        here.run()
    source.gone = 4
    with pytest.raises(PlanLost):
        here.run()
    assert [sink.rows for sink in sinks(here)] == [bodies(0, 10), []]


def test_an_epoch_is_not_planned_anew_when_nothing_is_left() -> None:
    source = Vanishing(bodies(0, 10))
    here = world(source=source)
    with pytest.raises(PowerCut):
        here.run(cut_power_at("record"))
    source.gone = 10
    with pytest.raises(PlanLost):
        here.run()
