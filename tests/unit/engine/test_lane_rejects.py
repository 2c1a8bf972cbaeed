"""Events that a sink or the source refuses: they stop the epoch, or have a place to go."""

from __future__ import annotations

import pytest

from meltline.engine.lane import SinkEnd
from meltline.errors import EventsRejected, Retryable
from meltline.testing import (
    MemoryLetters,
    MemorySink,
)
from tests.unit.engine.lanes import sinks, world


def test_rejects_without_a_place_to_go_stop_the_epoch() -> None:
    here = world(0, MemorySink("db.t", refuses="x"), MemorySink("other"))
    here.source.bodies += ['{"n":1}', '{"n":"x1"}', '{"n":"x2"}']
    with pytest.raises(EventsRejected) as raised:
        here.run()
    assert str(raised.value) == (
        "2 events refused by table db.t, and no dlq is configured; nothing of this epoch was "
        "published. First reasons:\n   - holds x\n"
        " hint: set dlq in the sink or the pipeline to keep such events aside, or on_error: drop "
        "to let them go")
    assert [sink.rows for sink in sinks(here)] == [[], []]
    state = here.ledger.load("l")
    assert state is not None
    assert state.pending is not None


def test_one_reject_is_one_event() -> None:
    here = world(0, MemorySink("db.t", refuses="x"))
    here.source.bodies.append('{"n":"x1"}')
    with pytest.raises(EventsRejected, match=r"^1 event refused by table db.t"):
        here.run()


def test_undecodable_events_without_a_place_to_go_stop_the_epoch() -> None:
    here = world(0, routes=(("any", "/n == 1"),))
    here.source.bodies += ['{"n":1}', "no json"]
    with pytest.raises(EventsRejected, match=r"1 event refused by the source, .*\n   - not valid"):
        here.run()
    assert sinks(here)[0].rows == []


def test_rejects_may_be_dropped() -> None:
    sink = MemorySink("db.t", refuses="x")
    here = world(0, ends=(SinkEnd(sink, drop=True),), drop_undecodable=True,
                 routes=(("any", "/n == 1"),))
    here.source.bodies += ['{"n":1}', '{"n":"x1"}', "no json"]
    [result] = here.run()
    assert sink.rows == ['{"n":1}']
    assert result.rejected == {"db.t": 1}
    assert result.report.undecodable == 1


def test_letters_are_published_before_tables() -> None:
    journal: list[str] = []
    letters = MemoryLetters(journal=journal)
    ends = tuple(SinkEnd(MemorySink(name, refuses="x", journal=journal), letters="letters")
                 for name in ("one", "two"))
    here = world(0, ends=ends, letters=(letters,), source_letters="letters",
                 routes=(("any", "/n == 1"),))
    here.source.bodies += ['{"n":1}', '{"n":"x"}', "no json"]
    [result] = here.run()
    assert journal[0] == "letters"
    assert sorted(journal[1:]) == ["one", "two"]
    assert sorted((letter["sink"], letter["event"]) for letter in letters.letters) == [
        ("one", '{"n":"x"}'), ("source", "no json"), ("two", '{"n":"x"}')]
    assert result.published[0].table == "letters"


def test_an_epoch_of_rejects_alone() -> None:
    letters = MemoryLetters()
    sink = MemorySink(refuses="x")
    here = world(0, ends=(SinkEnd(sink, letters="letters"),), letters=(letters,))
    here.source.bodies.append('{"n":"x"}')
    here.run()
    here.source.bodies.append('{"n":1}')
    assert [result.epoch.number for result in here.run()] == [2]
    assert len(letters.letters) == 1
    assert sink.published == {2: ['{"n":1}']}


def test_letters_are_not_published_again_once_a_table_was() -> None:
    letters = MemoryLetters()
    one, two = MemorySink("one", refuses="x"), MemorySink("two", refuses="x")
    two.failures.append(Retryable("no"))
    here = world(0, ends=(SinkEnd(one, letters="letters"), SinkEnd(two, letters="letters")),
                 letters=(letters,))
    here.source.bodies += ['{"n":1}', '{"n":"x"}']
    with pytest.raises(Retryable):
        here.run()
    here.run()
    assert letters.journal == ["letters"]
    assert [letter["sink"] for letter in letters.letters] == ["one", "two"]
    assert one.rows == two.rows == ['{"n":1}']
