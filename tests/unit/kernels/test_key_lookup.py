"""Keys are found wherever they are: in files of any type, age and format."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pyarrow import orc
from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    FixedType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from meltline.errors import BaseMoved, RunError
from meltline.kernels import key_lookup
from meltline.model.live_file import LiveFile
from tests.unit.kernels.lookups import IO, data_file, foreign_file, hits, keys_of

UTC = timezone.utc
LONGS = Schema(NestedField(1, "id", LongType()), NestedField(2, "v", StringType()))
VALUES: list[tuple[IcebergType, list[Any]]] = [
    (IntegerType(), [5, -1, 2**31 - 1, 7]),
    (LongType(), [5, -1, 2**62, 7]),
    (StringType(), ["a", "", "ä" * 40, "b"]),
    (DecimalType(9, 2), [Decimal("1.20"), Decimal("-3.00"), Decimal("9999999.99"), Decimal("2")]),
    (DecimalType(38, 0), [Decimal(10) ** 37, Decimal(-5), Decimal(0), Decimal(7)]),
    (UUIDType(), [UUID(int=n).bytes for n in (1, 2**127, 2**128 - 1, 3)]),
    (DateType(), [date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29)]),
    (TimestampType(), [0, -5, 10**15, 7]),
    (TimestamptzType(), [datetime(2024, 1, n, tzinfo=UTC) for n in (1, 2, 3, 4)]),
    (TimestamptzNanoType(), [1, 2, 1_000, 5]),
    (TimeType(), [0, 1, 86_399_999_999, 5]),
    (BinaryType(), [b"", b"\xff\xff", b"a" * 30, b"b"]),
    (FixedType(3), [b"abc", b"\x00\x00\x00", b"\xff\xff\xff", b"xyz"]),
]


@pytest.mark.parametrize(("type_", "values"), VALUES, ids=lambda one: str(one)[:14])
def test_every_type_that_may_identify_rows(
    tmp_path: Path, type_: IcebergType, values: list[Any]
) -> None:
    schema = Schema(NestedField(1, "id", type_))
    files = [data_file(tmp_path / "a.parquet", schema, {"id": [*values[:3], values[0]]}),
             data_file(tmp_path / "b.parquet", schema, {"id": [values[3]]})]
    assert hits(files, keys_of(schema, ["id"], {"id": [values[0], values[2]]})) == {"a": [0, 2, 3]}
    assert hits(files, keys_of(schema, ["id"], {"id": [values[3]]})) == {"b": [0]}


def test_null_equals_null(tmp_path: Path) -> None:
    files = [data_file(tmp_path / "a.parquet", LONGS, {"id": [1, None, 3], "v": ["x"] * 3}),
             data_file(tmp_path / "b.parquet", LONGS, {"id": [1, 3], "v": ["x"] * 2})]
    assert hits(files, keys_of(LONGS, ["id"], {"id": [None]})) == {"a": [1]}
    assert hits(files, keys_of(LONGS, ["id"], {"id": [3]})) == {"a": [2], "b": [1]}


def test_keys_of_many_columns(tmp_path: Path) -> None:
    schema = Schema(NestedField(1, "a", LongType()), NestedField(2, "b", StringType()),
                    NestedField(3, "c", BooleanType()), NestedField(4, "d", UUIDType()))
    same = UUID(int=9).bytes
    file = data_file(tmp_path / "f.parquet", schema, {
        "a": [1, 1, 2, None, None], "b": ["x", "y", "x", "x", None],
        "c": [True, True, False, None, None], "d": [same] * 5})
    keys = keys_of(schema, ["a", "b", "d"], {
        "a": [1, 2, None, 1], "b": ["x", "y", None, "x"], "d": [same] * 4})
    assert hits([file], keys) == {"f": [0, 4]}


def test_no_hits(tmp_path: Path) -> None:
    file = data_file(tmp_path / "a.parquet", LONGS, {"id": [1, 9], "v": ["x", "y"]})
    assert hits([file], keys_of(LONGS, ["id"], {"id": [5]})) == {}
    assert hits([], keys_of(LONGS, ["id"], {"id": [5]})) == {}


def test_files_out_of_bounds_are_not_opened(tmp_path: Path) -> None:
    file = data_file(tmp_path / "a.parquet", LONGS, {"id": [10, 20], "v": ["x", "y"]})
    Path(file.path).unlink()
    for outside in ([9], [21], [1, 30], [-(2**63), 2**63 - 1]):
        assert hits([file], keys_of(LONGS, ["id"], {"id": outside})) == {}
    with pytest.raises(BaseMoved, match="is gone"):
        hits([file], keys_of(LONGS, ["id"], {"id": [1, 15, 30]}))


def test_row_groups_out_of_bounds_keep_their_positions(tmp_path: Path) -> None:
    file = data_file(tmp_path / "a.parquet", LONGS,
                     {"id": list(range(100)), "v": [f"{n:03}" for n in range(100)]}, groups=10)
    assert hits([file], keys_of(LONGS, ["id"], {"id": [5, 55, 99, 200]})) == {"a": [5, 55, 99]}
    assert hits([file], keys_of(LONGS, ["v"], {"v": ["005", "0555", "099"]})) == {"a": [5, 99]}


def test_more_rows_than_are_compared_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_lookup, "AT_ONCE", 10)
    files = [data_file(tmp_path / f"{n}.parquet", LONGS,
                       {"id": list(range(n, n + 7)), "v": ["x"] * 7}) for n in range(5)]
    assert hits(files, keys_of(LONGS, ["id"], {"id": [4]})) == {
        str(n): [4 - n] for n in range(5)}


@pytest.mark.parametrize("old", [pa.int32(), pa.int64()])
def test_a_promoted_column_under_an_older_name(tmp_path: Path, old: pa.DataType) -> None:
    field = pa.field("number", old, metadata={"PARQUET:field_id": "1"})
    rows = pa.Table.from_arrays([pa.array([3, None, 5], old)], schema=pa.schema([field]))
    bounds = {"lower-bounds": {"keys": [1], "values": ["03000000"]},
              "upper-bounds": {"keys": [1], "values": ["05000000"]}}
    file = foreign_file(tmp_path / "a.parquet", rows, **bounds)
    assert hits([file], keys_of(LONGS, ["id"], {"id": [5, 2**40]})) == {"a": [2]}


def test_a_file_older_than_the_column(tmp_path: Path) -> None:
    schema = Schema(NestedField(1, "id", LongType()),
                    NestedField(2, "v", StringType(), initial_default="none"))
    field = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})
    rows = pa.Table.from_arrays([pa.array([3, 4])], schema=pa.schema([field]))
    file = foreign_file(tmp_path / "a.parquet", rows)
    keys = keys_of(schema, ["id", "v"], {"id": [3, 4], "v": ["none", None]})
    assert hits([file], keys) == {"a": [0]}
    assert hits([file], keys_of(schema, ["v"], {"v": ["none"]})) == {"a": [0, 1]}
    assert hits([file], keys_of(schema, ["v"], {"v": [None]})) == {}


def test_a_file_without_its_partition_column(tmp_path: Path) -> None:
    field = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})
    rows = pa.Table.from_arrays([pa.array([3, 4])], schema=pa.schema([field]))
    file = foreign_file(tmp_path / "a.parquet", rows, partition=["x"])
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "v"))
    assert hits([file], keys_of(LONGS, ["id", "v"], {"id": [3], "v": ["x"]}), {0: spec}) == {
        "a": [0]}


def test_a_file_without_ids(tmp_path: Path) -> None:
    rows = pa.table({"v": ["x", "y"], "number": [1, 2]})
    file = foreign_file(tmp_path / "a.parquet", rows)
    mapping = json.dumps([{"field-id": 1, "names": ["id", "number"]},
                          {"field-id": 2, "names": ["v"]}])
    keys = keys_of(LONGS, ["id"], {"id": [2]}, {"schema.name-mapping.default": mapping})
    assert hits([file], keys) == {"a": [1]}
    by_place = foreign_file(tmp_path / "b.parquet", pa.table({"x": [1, 2], "y": ["a", "b"]}))
    assert hits([by_place], keys_of(LONGS, ["id"], {"id": [2]})) == {"b": [1]}


def test_orc(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"id": pa.array([1, 2, 3]), "v": ["x", "y", "z"]}), path)
    file = LiveFile({"content": "data", "spec-id": 0, "file-path": str(path), "record-count": 3,
                     "file-format": "orc"})
    assert hits([file], keys_of(LONGS, ["id"], {"id": [3]})) == {"a": [2]}


def test_avro(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    with AvroOutputFile[Record](IO.new_output(str(path)), LONGS, "rows") as file:
        file.write_block([Record(id_, f"v{id_}") for id_ in (1, 2, 3)])
    live = LiveFile({"content": "data", "spec-id": 0, "file-path": str(path), "record-count": 3,
                     "file-format": "avro"})
    assert hits([live], keys_of(LONGS, ["id"], {"id": [3]})) == {"a": [2]}


def test_a_format_that_nobody_reads() -> None:
    file = LiveFile({"content": "data", "spec-id": 0, "file-path": "/x/a.csv", "record-count": 3,
                     "file-format": "csv"})
    with pytest.raises(RunError, match=r"/x/a\.csv: files of the format csv"):
        key_lookup.find_rows(IO, [file], keys_of(LONGS, ["id"], {"id": [3]}), {})

