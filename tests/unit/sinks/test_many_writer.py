"""Events to the tables they name, in one task."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, StringType

from meltline.engine.report import SinkReport
from meltline.engine.work import TaskPlace
from meltline.kernels.write import WriteLimits
from meltline.model.event import json_shape
from meltline.model.file_closed import FileClosed
from meltline.sinks.iceberg.changes import ChangeSettings
from meltline.sinks.iceberg.many_writer import UNKNOWN, ManyWriter
from meltline.sinks.iceberg.writer import IcebergWriter
from tests.unit.kernels.conversion import CONNECTION, optional, register
from tests.unit.kernels.tables import target

PLACE = TaskPlace("p", "l", 7, 0, 2, "a")
SCHEMA = Schema(optional(1, "id", LongType()), optional(2, "name", StringType()))


def writer(folder: Path, *tables: str, **changes: Any) -> ManyWriter:
    known = {name: IcebergWriter(target(folder / name, SCHEMA), "b") for name in tables}
    settings = {"name": "db.${/t}", "lower": False, "tables": known, "refused": {},
                "keyed": False, "auto_create": True, **changes}
    return ManyWriter(**settings)


def run(made: ManyWriter, *chunks: list[Any]) -> tuple[SinkReport, dict[int, str], Any]:
    opened = made.open(PLACE)
    rejects: dict[int, str] = {}
    for chunk in chunks:
        converted = opened.convert(
            CONNECTION, register([json.dumps(event) for event in chunk]), json_shape())
        opened.add(converted)
        rejects |= {row["ord"]: row["reason"] for row in converted.rejects.to_pylist()}
    return opened.finish(), rejects, opened


def rows(report: SinkReport) -> list[Any]:
    return [row["id"] for text in report.files
            for row in pq.read_table(FileClosed.from_json(text).path).to_pylist()]


def test_each_table_gets_its_events(tmp_path: Path) -> None:
    made = writer(tmp_path, "db.a", "db.b", refused={"db.c": "no"})
    assert pickle.loads(pickle.dumps(made)) == made
    report, rejects, _ = run(made, [{"t": "a", "id": 1}, {"t": "b", "id": 2}, {"t": "a", "id": 3},
                                    {"t": "c", "id": 4}, {"id": 5}, {"t": ".x", "id": 6}])
    assert sorted(rows(report)) == [1, 2, 3]
    assert report.rows == 3
    assert rejects == {3: "no", 4: 'the event names no table: "db." is not namespace.table',
                       5: 'the event names no table: "db..x" is not namespace.table'}


def test_unknown_tables_are_asked_for_and_nothing_is_written(tmp_path: Path) -> None:
    events = [{"t": "a", "id": 1}, {"t": "new", "id": 2, "x": "y"}]
    report, rejects, _ = run(writer(tmp_path, "db.a"), events, [{"t": "a", "id": 3}])
    assert report.guess["struct"].keys() == {"db.new"}
    assert report.guess["struct"]["db.new"]["struct"].keys() == {"t", "id", "x"}
    assert (report.files, rejects) == ((), {})
    report, _, _ = run(writer(tmp_path, "db.a", auto_create=False), events)
    assert report.guess == {"struct": {"db.new": UNKNOWN}}


def test_all_tables_together_keep_within_the_limits(tmp_path: Path) -> None:
    names = [f"db.t{n}" for n in range(20)]
    events = [{"t": f"t{n % 20}", "id": n, "name": "x" * 100} for n in range(400)]
    limits = WriteLimits(buffered=10_000, open_files=3)
    report, _, opened = run(writer(tmp_path, *names, limits=limits),
                            events[:100], events[100:200], events[200:])
    assert sum(sink.writer.buffered for sink in opened._open.values()) == 0
    assert sorted(rows(report)) == list(range(400))
    assert len(report.files) > len(names), "files were closed early to make room"


def test_a_small_table_does_not_go_to_every_bucket(tmp_path: Path) -> None:
    settings = ChangeSettings(None, ("id",), False, '{"spec-id":0,"fields":[]}')
    names = [f"db.t{n}" for n in range(8)]
    tables = {name: IcebergWriter(target(tmp_path / name, SCHEMA), "b", changes=settings)
              for name in names}
    made = writer(tmp_path, tables=tables, keyed=True)
    opened = made.open(replace(PLACE, buckets=16))
    events = [json.dumps({"t": f"t{n % 8}", "id": n}) for n in range(800)]
    opened.add(opened.convert(CONNECTION, register(events), json_shape()))
    parts = list(opened.drain(last=True))
    places = {name: {bucket for bucket, part in parts if part.startswith(name.encode() + b"\0")}
              for name in names}
    assert all(len(buckets) == 2 for buckets in places.values())
    assert all(0 <= bucket < 16 for bucket, _ in parts)
    report = made.gather(PLACE, [part for _, part in parts])
    assert sorted(rows(report)) == list(range(800))


def test_a_table_by_the_lower_cased_name(tmp_path: Path) -> None:
    made = writer(tmp_path, "db.a", name="${/t}", lower=True)
    report, _, _ = run(made, [{"t": "DB.A", "id": 1}, {"t": "db.a", "id": 2}])
    assert rows(report) == [1, 2]
