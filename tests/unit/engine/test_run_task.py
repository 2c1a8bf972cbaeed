"""One task: read, process, route, convert, report. Nothing is lost on the way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import pytest

from meltline.config.processors import ProcessorBlock
from meltline.engine.report import TaskReport
from meltline.engine.task import run_task
from meltline.engine.work import SinkPart, TaskPlace, TaskWork
from meltline.model.event import Shape
from meltline.model.plan import Split
from meltline.testing.letters import MemoryLetterWriter
from meltline.testing.sink import MemoryWriter, OpenMemory
from meltline.testing.source import ListReader

PLACE = TaskPlace("p", "l", 7, 1_700_000_000_123, 2, "a")
TAKES_ALL = MemoryWriter(None, None)
REFUSES_X = MemoryWriter("x", None)


def work(bodies: Sequence[str], *sinks: SinkPart, **changes: Any) -> TaskWork:
    reader = ListReader(tuple(bodies), per_chunk=3)
    made = TaskWork(PLACE, Split({"from": 0, "to": len(bodies)}), reader, (), (),
                    sinks or (SinkPart("memory", (), TAKES_ALL),))
    return replace(made, **changes)


def run(task: TaskWork) -> TaskReport:
    [report] = run_task(task)
    assert isinstance(report, TaskReport)
    return TaskReport.from_json(report.to_json())


def rows(report: TaskReport, sink: int = 0) -> list[str]:
    return [body for file in report.sinks[sink].files for body in json.loads(file)]


def letters(report: TaskReport, key: str = "dlq") -> list[dict[str, Any]]:
    return [letter for file in report.letters.get(key, ()) for letter in json.loads(file)]


GOOD = ['{"n":1}', '{"n":2}', '{"n":3}', '{"n":4}', '{"n":5}']


def test_every_event_reaches_the_sink_once() -> None:
    report = run(work(GOOD))
    assert rows(report) == GOOD
    assert (report.shard, report.read, report.sinks[0].rows) == (2, 5, 5)
    assert report.size > 0
    assert report.peak_rss > 1 << 20
    assert (report.undecodable, report.unrouted, report.skipped) == (0, 0, 0)


def test_an_empty_split() -> None:
    report = run(work([]))
    assert (report.read, report.sinks[0].files, report.letters) == (0, (), {})


BROKEN = ["", " ", "no json", '{"a":1', '{"a":"\\ud800"}', '{"a":1}{"b":2}', "{'a':1}",
          '{"a":\x01}']  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN, ids=repr)
def test_a_broken_event_leaves_the_others_alone(broken: str) -> None:
    report = run(work([*GOOD[:4], broken, *GOOD[4:]], letters=(("dlq", MemoryLetterWriter()),),
                      source_letters="dlq", sinks=(SinkPart("t", (), SELECTIVE),)))
    assert rows(report) == GOOD
    assert report.undecodable == 1
    assert report.read == 6
    [letter] = letters(report)
    assert letter["event"] == broken
    assert letter["reason"].startswith("not valid JSON")
    assert report.samples == (letter["reason"],)


@dataclass(frozen=True)
class SelectiveWriter(MemoryWriter):
    """Reads the events as JSON, as a real sink does: a broken one raises."""

    def open(self, place: TaskPlace) -> OpenSelective:
        return OpenSelective(None, None)


class OpenSelective(OpenMemory):
    def convert(self, connection: duckdb.DuckDBPyConnection, events: str, shape: Shape) -> Any:
        connection.sql(f"SELECT json_transform(body, '{{\"n\":\"BIGINT\"}}') FROM {events}"
                       ).to_arrow_table()
        return super().convert(connection, events, shape)


SELECTIVE = SelectiveWriter(None, None)


@pytest.mark.parametrize("routes", [(), (("any", "/n > 0"),)], ids=["plain", "routed"])
def test_all_events_broken(routes: tuple[tuple[str, str], ...]) -> None:
    report = run(work(BROKEN, SinkPart("t", (), SELECTIVE), routes=routes))
    assert rows(report) == []
    assert report.undecodable == len(BROKEN) == report.read
    assert report.letters == {}
    assert len(report.samples) == 5


def test_rejects_are_counted_sampled_and_sent_as_they_arrived() -> None:
    part = SinkPart("db.t", (), REFUSES_X, letters="dlq")
    report = run(work(['{"n":1}', '{"n":"x"}', '{"n":"xx"}'], part,
                      letters=(("dlq", MemoryLetterWriter()),)))
    assert rows(report) == ['{"n":1}']
    assert report.sinks[0].rejected == 2
    assert report.sinks[0].samples == ("holds x", "holds x")
    assert letters(report) == [
        {"pipeline": "p", "sink": "db.t", "epoch": 7, "ord": ord_, "reason": "holds x",
         "event": event, "source": f'{{"place":{ord_}}}',
         "failed_at": "2023-11-14 22:13:20.123000+00:00"}
        for ord_, event in [(1, '{"n":"x"}'), (2, '{"n":"xx"}')]]


def test_rejects_without_a_target_are_only_counted() -> None:
    report = run(work(['{"n":"x"}'], SinkPart("t", (), REFUSES_X)))
    assert (report.sinks[0].rejected, report.letters) == (1, {})


def test_a_letter_holds_the_event_before_the_processors() -> None:
    add = ProcessorBlock.model_validate(
        {"add_entries": {"entries": [{"key": "added", "value": "x"}]}})
    part = SinkPart("t", (), REFUSES_X, letters="dlq")
    report = run(work(['{"n":1}'], part, processors=(add,),
                      letters=(("dlq", MemoryLetterWriter()),)))
    assert [letter["event"] for letter in letters(report)] == ['{"n":1}']


def test_several_sinks_and_routes() -> None:
    parts = [SinkPart("small", ("small",), TAKES_ALL), SinkPart("rest", ("_default",), TAKES_ALL),
             SinkPart("some", ("small", "big"), REFUSES_X, letters="dlq")]
    bodies = ['{"n":1}', '{"n":5}', '{"n":9}', '{"n":9,"a":"x"}']
    report = run(work(bodies, *parts, routes=(("small", "/n < 3"), ("big", "/n > 8")),
                      letters=(("dlq", MemoryLetterWriter()),)))
    assert rows(report, 0) == bodies[:1]
    assert rows(report, 1) == bodies[1:2]
    assert rows(report, 2) == [bodies[0], bodies[2]]
    assert [sink.rejected for sink in report.sinks] == [0, 0, 1]
    assert report.unrouted == 0


def test_events_that_no_sink_takes_are_counted() -> None:
    report = run(work(GOOD, SinkPart("t", ("big",), TAKES_ALL), routes=(("big", "/n > 3"),)))
    assert rows(report) == GOOD[3:]
    assert report.unrouted == 3


def test_two_sinks_refuse_the_same_event() -> None:
    parts = [SinkPart("one", (), REFUSES_X, letters="dlq"),
             SinkPart("two", (), REFUSES_X, letters="other")]
    report = run(work(['{"n":"x"}'], *parts, letters=(
        ("dlq", MemoryLetterWriter()), ("other", MemoryLetterWriter()))))
    assert [letter["sink"] for letter in letters(report)] == ["one"]
    assert [letter["sink"] for letter in letters(report, "other")] == ["two"]


def test_a_guess_is_reported() -> None:
    report = run(work(['{"n":1,"m":2}'], SinkPart("t", (), MemoryWriter(None, frozenset("n")))))
    assert report.sinks[0].guess == {"struct": {"m": "string"}}


@dataclass(frozen=True)
class FailingWriter(MemoryWriter):
    refuses: str | None = None
    columns: frozenset[str] | None = None
    opened: list[Failing] = field(default_factory=list)
    when: str = "add"

    def open(self, place: TaskPlace) -> Failing:
        self.opened.append(Failing(None, None, when=self.when))
        return self.opened[-1]


@dataclass
class Failing(OpenMemory):
    when: str = ""
    abandoned: bool = False

    def add(self, converted: Any) -> None:
        if self.when == "add":
            raise OSError("disk full")

    def finish(self) -> Any:
        raise OSError("disk full")

    def abandon(self) -> None:
        self.abandoned = True


@pytest.mark.parametrize("when", ["add", "finish"])
def test_a_failure_lets_go_of_every_sink(when: str) -> None:
    one, other = FailingWriter(when=when), FailingWriter(when="finish")
    with pytest.raises(OSError, match="disk full"):
        run(work(GOOD, SinkPart("one", (), one), SinkPart("other", (), other)))
    assert [sink.abandoned for sink in one.opened + other.opened] == [True, True]


def test_a_sink_gets_nothing_of_a_chunk_that_another_cannot_convert() -> None:
    """A chunk is added to all sinks or to none: after the check it is converted again."""
    parts = [SinkPart("one", (), TAKES_ALL), SinkPart("two", (), SELECTIVE)]
    report = run(work([*GOOD, "no json"], *parts))
    assert rows(report, 0) == rows(report, 1) == GOOD


def test_the_same_work_gives_the_same_report() -> None:
    add = ProcessorBlock.model_validate({"add_entries": {"entries": [
        {"key": "id", "value_expression": "generateUuid()"},
        {"key": "at", "value_expression": "now()"}]}})
    task = work(GOOD, processors=(add,))
    one, other = run(task), run(task)
    assert rows(one) == rows(other)
    assert len({json.loads(body)["id"] for body in rows(one)}) == len(GOOD)
