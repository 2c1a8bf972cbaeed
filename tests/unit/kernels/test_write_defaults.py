"""Default values of columns, for what an event does not say."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from meltline.codecs.parquet import duckdb_types
from meltline.errors import UserError
from meltline.kernels.convert import NO_MATCH, Converted, Converter
from meltline.kernels.sql_types import write_default_sql
from meltline.model.event import Shape, json_shape
from tests.unit.kernels.conversion import CONNECTION, day, optional, plain, reasons, register, utc

DEFAULTS: list[tuple[str, Any, Any]] = [
    ("boolean", False, False), ("int", 5, 5), ("long", -1, -1), ("float", 1.5, 1.5),
    ("double", 0.1, 0.1), ("decimal(9, 2)", "14.20", "14.20"), ("date", "2026-01-02", None),
    ("time", "22:31:08.5", None), ("timestamp", "2026-01-02T03:04:05.000006", None),
    ("timestamptz", "2026-01-02T03:04:05.000006+00:00", None), ("string", "it's", "it's"),
    ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7", None), ("binary", "00ff", b"\x00\xff"),
    ("fixed[2]", "00ff", b"\x00\xff")]  # fmt: skip


def schema(type_: str, default: Any, required: bool = False) -> Schema:
    fields = [{"id": 1, "name": "id", "required": False, "type": "long"},
              {"id": 2, "name": "v", "required": required, "type": type_,
               "initial-default": default, "write-default": default}]
    return Schema.model_validate_json(json.dumps({"type": "struct", "fields": fields}))


def convert(made: Schema, bodies: list[str], **settings: Any) -> Converted:
    return Converter(made, json_shape(), **settings).convert(CONNECTION, register(bodies))


@pytest.mark.parametrize(("type_", "default", "value"), DEFAULTS)
def test_every_type(type_: str, default: Any, value: Any) -> None:
    """What is absent is what an event would have said that holds the default itself."""
    own = value.hex() if isinstance(value, bytes) else default
    made = schema(type_, default)
    absent = convert(made, ['{"id":1}', '{"id":2,"v":null}'])
    found = plain(absent.rows.sort_by("id").column("v"))
    assert found[1] is None
    if isinstance(value, bytes):
        assert found[0] == value
    else:
        said = convert(made, [json.dumps({"id": 1, "v": own})])
        assert found[0] == plain(said.rows.column("v"))[0] is not None


def test_dates_and_times_are_what_they_say() -> None:
    assert plain(convert(schema("date", "2026-01-02"), ['{"id":1}']).rows.column("v")) == [
        day(2026, 1, 2)]
    assert plain(convert(schema("timestamptz", "2026-01-02T03:04:05+00:00"),
                         ['{"id":1}']).rows.column("v")) == [utc(2026, 1, 2, 3, 4, 5)]


def test_a_required_column_with_a_default_does_not_reject_but_a_null_does() -> None:
    found = convert(schema("long", 7, required=True),
                    ['{"id":1}', '{"id":2,"v":null}', '{"id":3,"v":"x"}', '{"id":4,"v":1}'])
    assert found.rows.sort_by("id").to_pylist() == [{"id": 1, "v": 7}, {"id": 4, "v": 1}]
    assert reasons(found) == {1: 'required column "v" is missing or null',
                              2: 'required column "v" (long) cannot take "x"'}


def test_an_event_that_matches_no_column_is_no_row_of_defaults() -> None:
    for required in (False, True):
        found = convert(schema("long", 7, required), ['{"other":1}', "{}"])
        assert (found.rows.num_rows, reasons(found)) == (0, {0: NO_MATCH, 1: NO_MATCH})


def test_a_field_that_does_not_count_is_absent() -> None:
    found = convert(schema("long", 7), ['{"id":1,"v":3}'], allows=lambda name: name != "v")
    assert found.rows.to_pylist() == [{"id": 1, "v": 7}]


def test_an_identifier_has_no_default() -> None:
    found = convert(schema("long", 7), ['{"id":1}'], identifiers=["v"])
    assert reasons(found) == {0: 'identifier column "v" is missing or null'}


def test_typed_events() -> None:
    def typed(columns: dict[str, pa.Array]) -> Converted:
        table = pa.table(columns)
        CONNECTION.register("typed_events", pa.table({
            "row": table.to_struct_array().combine_chunks(),
            "ord": pa.array(range(table.num_rows), pa.int64())}))
        shape = Shape("typed", {}, duckdb_types(table.schema, CONNECTION))
        return Converter(schema("long", 7, True), shape).convert(CONNECTION, "typed_events")

    assert typed({"id": pa.array([1])}).rows.to_pylist() == [{"id": 1, "v": 7}]
    found = typed({"id": pa.array([1, 2]), "v": pa.array([None, 3])})
    assert found.rows.to_pylist() == [{"id": 2, "v": 3}]
    assert reasons(typed({"other": pa.array([1])})) == {0: NO_MATCH}


def test_no_default_and_one_that_is_not_supported() -> None:
    assert write_default_sql(optional(1, "v", LongType())) is None
    field = NestedField(1, "v", LongType(), write_default=5)
    assert write_default_sql(field) == "CAST('5' AS BIGINT)"
    wrong = NestedField(1, "v", LongType(), write_default=5)
    object.__setattr__(wrong, "field_type", schema("long", 1).as_struct())
    with pytest.raises(UserError, match="has a default value, which is not supported"):
        write_default_sql(wrong)
