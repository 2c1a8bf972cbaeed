"""The Iceberg sink inside a worker: rows, rejects, and fields for which there is no column."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, ListType, LongType, StringType, StructType

from meltline.codecs.parquet import duckdb_types
from meltline.engine.report import SinkReport
from meltline.engine.work import TaskPlace
from meltline.kernels.convert import NO_MATCH
from meltline.model.event import Shape, json_shape
from meltline.model.file_closed import FileClosed
from meltline.sinks.iceberg.changes import ChangeSettings
from meltline.sinks.iceberg.fields import KeyFilter
from meltline.sinks.iceberg.keyed import OpenKeyed
from meltline.sinks.iceberg.writer import IcebergWriter, OpenGuess, OpenIceberg
from tests.unit.kernels.conversion import CONNECTION, optional, register, required
from tests.unit.kernels.tables import target

Opened = OpenIceberg | OpenKeyed | OpenGuess
PLACE = TaskPlace("p", "l", 7, 0, 2, "a")
SCHEMA = Schema(required(1, "id", LongType()), optional(2, "name", StringType()))


def write(
    opened: Opened, *chunks: Sequence[str]
) -> tuple[SinkReport, dict[int, str]]:
    """The report of a task over these chunks, and its rejects by event (over all chunks)."""
    rejects: dict[int, str] = {}
    for place, chunk in enumerate(chunks):
        converted: Any = opened.convert(CONNECTION, register(chunk), json_shape())
        opened.add(converted)
        rejects.update({100 * place + row["ord"]: row["reason"]
                        for row in converted.rejects.to_pylist()})
    return opened.finish(), rejects


def rows(report: SinkReport) -> list[Any]:
    return [row for text in report.files
            for row in pq.read_table(FileClosed.from_json(text).path).to_pylist()]


def writer(folder: Path, schema: Schema = SCHEMA, **changes: Any) -> Any:
    return IcebergWriter(target(folder, schema), "batch", **changes).open(PLACE)


def test_events_become_rows_of_files(tmp_path: Path) -> None:
    report, rejects = write(writer(tmp_path), ['{"id":1,"name":"a"}', '{"id":"x"}'],
                            ['{"other":1}', '{"id":2,"extra":1}'])
    assert rows(report) == [{"id": 1, "name": "a"}, {"id": 2, "name": None}]
    assert (report.rows, report.guess) == (2, None)
    assert rejects == {1: 'required column "id" (long) cannot take "x"', 100: NO_MATCH}
    [file] = [FileClosed.from_json(text) for text in report.files]
    assert file.path.endswith("/data/p/epoch=7/2-a-0.parquet")
    assert (file.batch_id, file.record_count) == ("batch", 2)


def test_without_events_there_is_no_file(tmp_path: Path) -> None:
    assert write(writer(tmp_path)) == (SinkReport(), {})
    assert write(writer(tmp_path, evolve=True), []) == (SinkReport(), {})


def test_a_writer_travels_to_workers(tmp_path: Path) -> None:
    made = IcebergWriter(target(tmp_path, SCHEMA), "batch", True, KeyFilter(("id",)))
    assert pickle.loads(pickle.dumps(made)) == made


def test_filtered_keys_do_not_count(tmp_path: Path) -> None:
    keys = KeyFilter(exclude=("name", "new"))
    report, rejects = write(writer(tmp_path, keys=keys, evolve=True),
                            ['{"id":1,"name":"a","new":1}', '{"name":"a"}'])
    assert rows(report) == [{"id": 1, "name": None}]
    assert rejects == {1: NO_MATCH}
    assert report.guess is None


def test_without_evolution_new_fields_are_ignored(tmp_path: Path) -> None:
    report, _ = write(writer(tmp_path), ['{"id":1,"new":5}'])
    assert report.guess is None
    assert len(rows(report)) == 1


def test_a_new_field_stops_the_writing_and_is_reported(tmp_path: Path) -> None:
    report, rejects = write(
        writer(tmp_path, evolve=True), ['{"id":1}'], ['{"id":2,"new":5}', '{"id":"x"}'],
        ['{"id":3,"new":1.5,"more":{"a":[true]}}'], ['{"id":4}'])
    assert report.guess == {"struct": {
        "id": "long", "new": "double", "more": {"struct": {"a": {"list": "boolean"}}}}}
    assert report.rows == 1
    assert rejects == {}


@pytest.mark.parametrize("field", ['"new":null', '"new":[]', '"new":{}', '"new":[null]', '"":1'])
def test_a_field_that_says_nothing_waits(tmp_path: Path, field: str) -> None:
    report, _ = write(writer(tmp_path, evolve=True), [f'{{"id":1,{field}}}'])
    assert report.guess is None
    assert rows(report) == [{"id": 1, "name": None}]


NESTED = Schema(
    required(1, "id", LongType()), optional(2, "s", StructType(optional(3, "a", LongType()))),
    optional(4, "l", ListType(5, StructType(optional(6, "a", LongType())), False)))


@pytest.mark.parametrize(
    ("field", "new"),
    [('"s":{"a":1}', False), ('"s":{"b":1}', True), ('"l":[{"a":1}]', False),
     ('"l":[{"a":1},{"b":2}]', True), ('"s":{"b":null}', False), ('"s":5', False)],
)  # fmt: skip
def test_new_fields_inside_of_columns(tmp_path: Path, field: str, new: bool) -> None:
    report, _ = write(writer(tmp_path, NESTED, evolve=True), [f'{{"id":1,{field}}}'])
    assert (report.guess is not None) == new
    assert report.rows == (0 if new else 1)


def test_a_table_is_guessed_from_the_events() -> None:
    opened = IcebergWriter(None, "batch").open(PLACE)
    report, rejects = write(opened, ['{"id":1,"name":null}'], ['{"id":1.5,"s":{"a":"x"}}', "{}"])
    assert report == SinkReport(guess={"struct": {
        "id": "double", "name": "null", "s": {"struct": {"a": "string"}}}})
    assert rejects == {}


def test_a_guess_obeys_the_key_filter() -> None:
    opened = IcebergWriter(None, "batch", keys=KeyFilter(include=("id",))).open(PLACE)
    report, _ = write(opened, ['{"id":1,"name":"a"}'])
    assert report.guess == {"struct": {"id": "long"}}


@pytest.mark.parametrize("keys", [KeyFilter(), KeyFilter(exclude=("id",))], ids=["all", "some"])
def test_events_from_which_no_table_can_be_made_are_refused(keys: KeyFilter) -> None:
    """They would be lost without a word: there is no table that could refuse them."""
    opened = IcebergWriter(None, "batch", keys=keys).open(PLACE)
    empty = ["{}", '{"":1}'] if keys == KeyFilter() else ['{"id":1}']
    report, rejects = write(opened, empty)
    assert report.guess is None
    assert rejects == dict.fromkeys(range(len(empty)), NO_MATCH)


def test_no_events_are_no_guess() -> None:
    assert write(IcebergWriter(None, "batch").open(PLACE), []) == (SinkReport(), {})


def test_nothing_is_left_open_after_a_failure(tmp_path: Path) -> None:
    both: list[Any] = [writer(tmp_path), IcebergWriter(None, "batch").open(PLACE)]
    for opened in both:
        opened.add(opened.convert(CONNECTION, register(['{"id":1}']), json_shape()))
        opened.abandon()


def typed_events(columns: dict[str, pa.Array]) -> Shape:
    table = pa.table(columns)
    rows_ = table.to_struct_array().combine_chunks()
    CONNECTION.register("events", pa.table({
        "row": rows_, "ord": pa.array(range(len(rows_)), pa.int64())}))
    return Shape("typed", {}, duckdb_types(table.schema, CONNECTION))


def test_typed_events_and_a_new_column(tmp_path: Path) -> None:
    opened = writer(tmp_path, evolve=True)
    shape = typed_events({"id": pa.array([1, 2]), "name": pa.array(["a", None])})
    opened.add(opened.convert(CONNECTION, "events", shape))
    shape = typed_events({"id": pa.array([3]), "at": pa.array([0], pa.timestamp("us"))})
    opened.add(opened.convert(CONNECTION, "events", shape))
    report = opened.finish()
    assert rows(report) == [{"id": 1, "name": "a"}, {"id": 2, "name": None}]
    assert report.guess == {"struct": {"id": "long", "at": "timestamp"}, "typed": True}


def test_typed_events_say_the_types_of_a_new_table() -> None:
    opened = IcebergWriter(None, "batch", keys=KeyFilter(exclude=("x",))).open(PLACE)
    shape = typed_events({"id": pa.array([1], pa.int32()), "b": pa.array([b"x"]),
                          "x": pa.array([1])})
    opened.convert(CONNECTION, "events", shape)
    assert opened.finish().guess == {"struct": {"id": "int", "b": "binary"}, "typed": True}


def test_typed_events_that_do_not_fit_stop_the_writing(tmp_path: Path) -> None:
    schema = Schema(required(1, "id", IntegerType()), required(2, "name", StringType()),
                    identifier_field_ids=[1])
    shape = typed_events({"id": pa.array([1, None], pa.int64()), "name": pa.array(["a", None])})
    opened = writer(tmp_path, schema, evolve=True)
    opened.add(opened.convert(CONNECTION, "events", shape))
    assert opened.finish().guess == {
        "struct": {"id": "long", "name": "string"}, "typed": True, "nulls": ["name"]}
    opened = writer(tmp_path, schema)
    opened.add(opened.convert(CONNECTION, "events", shape))
    assert (opened.finish().guess, opened._rows) == (None, 1)


def test_a_deleted_row_needs_no_values(tmp_path: Path) -> None:
    schema = Schema(required(1, "id", LongType()), required(2, "name", StringType()))
    changes = ChangeSettings("${/op}", ("id",), False, '{"spec-id":0,"fields":[]}')
    opened = writer(tmp_path, schema, evolve=True, keys=KeyFilter(exclude=("op",)),
                    changes=changes)
    shape = typed_events({"id": pa.array([1, 2]), "name": pa.array(["a", None]),
                          "op": pa.array(["u", "d"])})
    opened.add(opened.convert(CONNECTION, "events", shape))
    assert opened.finish().guess is None


def test_a_report_is_json(tmp_path: Path) -> None:
    report, _ = write(writer(tmp_path), ['{"id":1}'])
    assert all(json.loads(text)["table"] == "db.t" for text in report.files)
