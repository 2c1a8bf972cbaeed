"""Rows to files: nothing lost, nothing twice, within the limits, and with the table's field ids."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, TruncateTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from meltline.kernels.convert import Converter
from meltline.kernels.parquet import ClosedParquet
from meltline.kernels.write import TableWriter, WriteLimits
from meltline.model.event import json_shape
from tests.unit.kernels.conversion import CONNECTION, dumps, optional, register, required
from tests.unit.kernels.tables import spec, table, target

SCHEMA = Schema(required(1, "k", LongType()), optional(2, "day", DateType()),
                optional(3, "name", StringType()))


def rows(start: int, count: int, days: int = 3, seed: int = 0) -> pa.Table:
    chance = random.Random(seed + start)
    return table(SCHEMA, {
        "k": range(start, start + count),
        "day": [chance.choice([None, *range(days)]) for _ in range(count)],
        "name": ["".join(chance.choices("abcdef", k=20)) for _ in range(count)]})


def write(
    folder: Path, chunks: Sequence[pa.Table], by: PartitionSpec | None = None,
    limits: WriteLimits | None = None, schema: Schema = SCHEMA,
    properties: Mapping[str, str] | None = None,
) -> list[ClosedParquet]:
    made = target(folder, schema, by, properties)
    writer = TableWriter(made, f"{folder.as_posix()}/data/0-a", limits or WriteLimits())
    for chunk in chunks:
        writer.add(chunk)
    return writer.finish()


def content(file: ClosedParquet) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.content)
    return found


def read(files: Sequence[ClosedParquet]) -> Counter[str]:
    """Every row of every file, as a multiset."""
    return Counter(repr(row) for file in files for row in pq.read_table(file.path).to_pylist())


def multiset(chunks: Sequence[pa.Table]) -> Counter[str]:
    return Counter(repr(row) for chunk in chunks for row in chunk.to_pylist())


def test_no_rows_no_file(tmp_path: Path) -> None:
    assert write(tmp_path, []) == []
    assert write(tmp_path, [rows(0, 0)], spec((2, DayTransform()))) == []
    assert not (tmp_path / "data").exists()


def test_what_is_reported_is_what_is_there(tmp_path: Path) -> None:
    [file] = write(tmp_path, [rows(0, 100), rows(100, 50)])
    found = content(file)
    assert file.path == f"{tmp_path.as_posix()}/data/0-a-0.parquet" == found["file-path"]
    assert file.size == Path(file.path).stat().st_size == found["file-size-in-bytes"]
    assert file.record_count == 150 == found["record-count"] == pq.read_metadata(file.path).num_rows
    assert (found["content"], found["file-format"], found["spec-id"], found["partition"]) == (
        "data", "parquet", 3, [])


def test_field_ids_and_nullability_are_in_the_footer(tmp_path: Path) -> None:
    schema = Schema(
        required(1, "k", LongType()),
        optional(2, "s", StructType(required(3, "a", DecimalType(9, 2)),
                                    optional(4, "l", ListType(5, UUIDType(), False)))),
        optional(6, "m", MapType(7, StringType(), 8, DoubleType(), True)))
    chunk = Converter(schema, json_shape()).convert(CONNECTION, register(['{"k":1}'])).rows
    [file] = write(tmp_path, [chunk], schema=schema)
    found = pq.read_schema(file.path)
    assert [int(field.metadata[b"PARQUET:field_id"]) for field in found] == [1, 2, 6]
    assert [field.nullable for field in found] == [False, True, True]
    struct = found.field("s").type
    assert [(f.metadata[b"PARQUET:field_id"], f.nullable) for f in struct] == [
        (b"3", False), (b"4", True)]
    physical = pq.ParquetFile(file.path).schema
    assert {physical.column(i).path: physical.column(i).physical_type
            for i in range(len(physical))} == {
        "k": "INT64", "s.a": "INT32", "s.l.list.element": "FIXED_LEN_BYTE_ARRAY",
        "m.key_value.key": "BYTE_ARRAY", "m.key_value.value": "DOUBLE"}


SPECS = {
    "none": PartitionSpec(spec_id=3),
    "day": spec((2, DayTransform())),
    "day and bucket": spec((2, DayTransform()), (1, BucketTransform(4))),
    "many": spec((3, TruncateTransform(2)), (1, BucketTransform(3))),
}
LIMITS = {
    "wide": WriteLimits(),
    "one file at a time": WriteLimits(open_files=1),
    "three files at a time": WriteLimits(open_files=3),
    "little memory": WriteLimits(buffered=20_000, row_group=5_000, open_files=10),
    "no memory": WriteLimits(buffered=0, gathered=0),
    "row by row": WriteLimits(row_group=1, gathered=1),
}


@pytest.mark.parametrize("by", SPECS)
@pytest.mark.parametrize("limits", LIMITS)
def test_nothing_is_lost_or_doubled(tmp_path: Path, by: str, limits: str) -> None:
    chunks = [rows(start, 200) for start in range(0, 1000, 200)]
    files = write(tmp_path, chunks, SPECS[by], LIMITS[limits],
                  properties={"write.target-file-size-bytes": "10000"})
    assert read(files) == multiset(chunks)
    assert sum(file.record_count for file in files) == 1000
    assert len({file.path for file in files}) == len(files)
    assert {file.path for file in files} == {
        path.as_posix() for path in tmp_path.rglob("*.parquet")}


def test_every_file_holds_one_partition(tmp_path: Path) -> None:
    by = spec((2, IdentityTransform()), (3, TruncateTransform(1)))
    files = write(tmp_path, [rows(0, 500), rows(500, 500)], by)
    partitions = [content(file)["partition"] for file in files]
    assert len(files) == len({repr(partition) for partition in partitions}) == 4 * 6
    for file, partition in zip(files, partitions, strict=True):
        found = pq.read_table(file.path, columns=["day", "name"]).to_pylist()
        assert {(row["day"] and row["day"].isoformat(), row["name"][:1]) for row in found} == {
            tuple(partition)}


def test_not_a_number_and_minus_zero_are_partitions(tmp_path: Path) -> None:
    schema = Schema(required(1, "k", LongType()), optional(2, "x", DoubleType()))
    chunk = table(schema, {"k": range(6), "x": [float("nan"), 0.0, -0.0] * 2})
    files = write(tmp_path, [chunk, chunk], spec((2, IdentityTransform())), schema=schema)
    assert sorted(repr(content(file)["partition"]) for file in files) == [
        "[-0.0]", "[0.0]", "[nan]"]
    assert [file.record_count for file in files] == [4, 4, 4]


def test_a_file_ends_at_the_target_size(tmp_path: Path) -> None:
    chunks = [rows(start, 1000) for start in range(0, 10_000, 1000)]
    files = write(tmp_path, chunks, limits=WriteLimits(row_group=20_000),
                  properties={"write.target-file-size-bytes": "30000"})
    assert len(files) > 3
    for file in files[:-1]:
        assert 30_000 <= file.size < 60_000
    assert read(files) == multiset(chunks)


def test_one_file_while_there_is_room(tmp_path: Path) -> None:
    files = write(tmp_path, [rows(0, 1000), rows(1000, 1000)], limits=WriteLimits(row_group=10_000))
    assert len(files) == 1
    assert pq.read_metadata(files[0].path).num_row_groups == 2


def test_open_files_and_memory_stay_within_the_limits(tmp_path: Path) -> None:
    limits = WriteLimits(buffered=30_000, row_group=4_000, open_files=5, gathered=1000)
    made = target(tmp_path, SCHEMA, spec((2, DayTransform())))
    writer = TableWriter(made, f"{tmp_path.as_posix()}/data/0-a", limits)
    chunks = [rows(start, 300, days=40) for start in range(0, 6000, 300)]
    for chunk in chunks:
        writer.add(chunk)
        lots = writer._lots.values()
        assert sum(table.nbytes for table in writer._gathered) < limits.row_group
        assert sum(table.num_rows for table in writer._gathered) < limits.gathered
        assert sum(lot.size for lot in lots) <= limits.buffered
        assert all(lot.size < limits.row_group for lot in lots)
        assert sum(lot.file is not None for lot in lots) <= limits.open_files
    assert read(writer.finish()) == multiset(chunks)


def test_split_offsets_are_where_the_row_groups_begin(tmp_path: Path) -> None:
    [file] = write(tmp_path, [rows(0, 500), rows(500, 500), rows(1000, 500)],
                   limits=WriteLimits(row_group=1000))
    footer = pq.read_metadata(file.path)
    starts = []
    for number in range(footer.num_row_groups):
        first = footer.row_group(number).column(0)
        starts.append(first.dictionary_page_offset or first.data_page_offset)
    assert content(file)["split-offsets"] == starts
    assert len(starts) == 3
    assert starts[0] == 4


def test_nothing_of_an_abandoned_writer_is_reported(tmp_path: Path) -> None:
    made = target(tmp_path, SCHEMA, spec((2, DayTransform())))
    writer = TableWriter(made, f"{tmp_path.as_posix()}/data/0-a", WriteLimits(row_group=10))
    writer.add(rows(0, 100))
    writer.abandon()
    assert all(lot.file is not None for lot in writer._lots.values())


CODECS = {"": "ZSTD", "zstd": "ZSTD", "gzip": "GZIP", "snappy": "SNAPPY",
          "uncompressed": "UNCOMPRESSED", "LZ4": "LZ4"}  # fmt: skip


@pytest.mark.parametrize("codec", CODECS)
def test_the_tables_own_compression(tmp_path: Path, codec: str) -> None:
    properties = {"write.parquet.compression-level": "3"}
    if codec:
        properties["write.parquet.compression-codec"] = codec
    [file] = write(tmp_path, [rows(0, 100)], properties=properties)
    assert pq.read_metadata(file.path).row_group(0).column(0).compression == CODECS[codec]
    assert read([file]) == multiset([rows(0, 100)])


REQUIRED_INSIDE = {
    "a number": (StructType(required(3, "a", LongType()), optional(4, "b", StringType())),
                 '{"a":1,"b":null}', {"a": 1, "b": None}),
    "a struct": (StructType(required(3, "a", StructType(required(4, "b", StringType())))),
                 '{"a":{"b":"x"}}', {"a": {"b": "x"}}),
    "of every type": (
        StructType(*(required(10 + place, f"c{place}", type_) for place, type_ in enumerate([
            BooleanType(), FloatType(), DecimalType(9, 2), DateType(), TimeType(),
            TimestamptzType(), TimestampNanoType(), BinaryType(), FixedType(1), UUIDType(),
            ListType(30, LongType(), True), MapType(31, StringType(), 32, LongType(), True)]))),
        None, None),
    "an item": (ListType(3, StructType(required(4, "a", LongType())), True),
                '[{"a":1}]', [{"a": 1}]),
}  # fmt: skip


@pytest.mark.parametrize("case", REQUIRED_INSIDE)
def test_an_optional_column_with_a_required_part_may_be_null(tmp_path: Path, case: str) -> None:
    type_, good, value = REQUIRED_INSIDE[case]
    schema = Schema(required(1, "k", LongType()), optional(2, "s", type_))
    converter = Converter(schema, json_shape())
    bodies = ['{"k":1}', '{"k":2,"s":5}', f'{{"k":3,"s":{good or "null"}}}', '{"k":4,"s":null}']
    chunks = [converter.convert(CONNECTION, register(part)).rows for part in (bodies, bodies[:1])]
    [file] = write(tmp_path, chunks, schema=schema)
    assert pq.read_table(file.path).column("s").to_pylist() == [None, None, value, None, None]


def test_random_events_come_back_from_the_files(tmp_path: Path) -> None:
    """From JSON to Parquet and back, with nested columns, in partitions."""
    schema = Schema(
        required(1, "k", LongType()), optional(2, "at", TimestamptzType()),
        optional(3, "price", DecimalType(20, 4)), optional(4, "raw", BinaryType()),
        optional(5, "s", StructType(optional(6, "u", UUIDType()), optional(
            7, "l", ListType(8, StructType(optional(9, "x", DoubleType())), False)))),
        optional(10, "m", MapType(11, StringType(), 12, LongType(), False)))
    chance = random.Random(5)
    events = [{
        "k": key, "at": chance.choice([None, key * 500_000]),
        "price": chance.choice([None, f"{key}.{key % 10000:04}"]), "raw": "AAEC",
        "s": chance.choice([None, {}, {"u": f"{key:032x}", "l": [{"x": key / 7}, None, {}]}]),
        "m": chance.choice([None, {}, {f"é{key}": key, "n": None}])} for key in range(3000)]
    converter = Converter(schema, json_shape())
    chunks = [converter.convert(CONNECTION, register(
        [dumps(event) for event in events[start:start + 500]])).rows
        for start in range(0, 3000, 500)]
    files = write(tmp_path, chunks, spec((2, DayTransform()), (1, BucketTransform(2))),
                  WriteLimits(open_files=7), schema)
    assert read(files) == multiset(chunks)
    assert sum(read(files).values()) == 3000
