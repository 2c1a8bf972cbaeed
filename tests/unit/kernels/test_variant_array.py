"""Variants out of files and into files."""

from __future__ import annotations

import io
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import ListType, LongType, NestedField, StructType

from meltline.kernels.arrow_schema import VARIANT, arrow_schema, is_variant, variant_ids
from meltline.kernels.parquet import ParquetFile
from meltline.kernels.parquet_footer import mark_variants
from meltline.kernels.projection import Projection
from meltline.kernels.storage import open_storage
from meltline.kernels.variant_array import variant_array
from meltline.kernels.variant_json import variant_json
from meltline.model.variant import VariantType
from tests.unit.kernels.variants import encode, sized

SCHEMA = Schema(
    NestedField(1, "id", LongType()), NestedField(2, "v", VariantType()),
    NestedField(3, "s", StructType(NestedField(4, "v", VariantType()))),
    NestedField(5, "l", ListType(6, VariantType(), element_required=False)))


def told(array: pa.Array) -> list[str | None]:
    return [None if one is None else variant_json(**one) for one in array.to_pylist()]


def test_the_arrow_form_of_variants_at_every_depth() -> None:
    arrow = arrow_schema(SCHEMA)
    assert variant_ids(SCHEMA) == {2, 4, 6}
    found = [arrow.field("v"), arrow.field("s").type.field("v"), arrow.field("l").type.value_field]
    assert all(map(is_variant, found)) and {one.type for one in found} == {VARIANT}
    assert not is_variant(arrow.field("s"))


def test_null_stays_null_and_the_variant_null_a_value() -> None:
    parts = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    array = pa.array([None, encode(None), encode([1]), {"metadata": b"\1\0\0", "value": None}],
                     parts)
    made = variant_array(array)
    assert made.type == VARIANT
    assert told(made) == [None, "null", "[1]", "null"]
    assert told(variant_array(array.slice(1, 2))) == ["null", "[1]"]


def _field(type_: pa.DataType) -> pa.DataType:
    return pa.struct([pa.field("value", pa.binary()), pa.field("typed_value", type_)])


def _shredded() -> pa.Array:
    inside = pa.struct([
        pa.field("a", _field(pa.int8()), nullable=False),
        pa.field("d", _field(pa.decimal128(9, 2)), nullable=False),
        pa.field("l", _field(pa.list_(pa.field("element", _field(pa.string()), nullable=False))),
                 nullable=False),
        pa.field("u", _field(pa.binary(16)), nullable=False)])
    type_ = pa.struct([pa.field("metadata", pa.binary(), nullable=False),
                       pa.field("value", pa.binary()), pa.field("typed_value", inside)])
    none = {"value": None, "typed_value": None}
    absent = dict.fromkeys(("a", "d", "l", "u"), none)
    names = encode({"a": 1, "d": 1, "l": 1, "u": 1, "z": 1})["metadata"]
    rest = encode({"z": sized(15, b"\0")}, names=("a", "d", "l", "u"))["value"]
    null = encode(None)["value"]
    whole: dict[str, Any] = {
        "a": {"value": None, "typed_value": 7}, "d": {"value": null, "typed_value": None},
        "l": {"value": None, "typed_value": [
            {"value": None, "typed_value": "x"}, {"value": null, "typed_value": None}]},
        "u": {"value": None, "typed_value": uuid.UUID(int=1).bytes}}
    return pa.array([
        {"metadata": names, "value": rest, "typed_value": whole}, None,
        {"metadata": names, "value": null, "typed_value": None},
        {"metadata": names, "value": None, "typed_value": absent},
        {"metadata": names, "value": encode("text")["value"], "typed_value": None}], type_)


WHOLE = ['{"a":7,"d":null,"l":["x",null],"u":"00000000-0000-0000-0000-000000000001","z":"AA=="}',
         None, "null", "{}", '"text"']


def test_shredded_variants_are_put_together() -> None:
    assert told(variant_array(_shredded())) == WHOLE
    assert told(variant_array(_shredded().slice(1, 3))) == WHOLE[1:4]


def test_a_projection_reads_shredded_variants_inside_of_structs() -> None:
    ids = {b"PARQUET:field_id": b"4"}
    inner = pa.field("old name", _shredded().type, metadata=ids)
    column = pa.StructArray.from_arrays([_shredded()], fields=[inner])
    field = pa.field("s", column.type, metadata={b"PARQUET:field_id": b"3"})
    read = Projection(SCHEMA, {}).project(pa.Table.from_arrays([column], schema=pa.schema([field])))
    assert told(read.column("s").combine_chunks().field("v")) == WHOLE
    assert read.column("v").null_count == len(WHOLE)


def _rows() -> pa.Table:
    value = encode({"a": [1, None]})
    return pa.Table.from_pylist([
        {"id": 1, "v": value, "s": {"v": value}, "l": [value, None]},
        {"id": 2, "v": None, "s": {"v": None}, "l": []},
        {"id": 3, "v": encode(None), "s": None, "l": None}], schema=arrow_schema(SCHEMA))


@pytest.mark.parametrize("groups", [0, 1, 3])
def test_files_say_which_columns_are_variants(tmp_path: Path, groups: int) -> None:
    path = str(tmp_path / "rows.parquet")
    file = ParquetFile(open_storage({}), path, SCHEMA, arrow_schema(SCHEMA), {})
    for _ in range(groups):
        file.write(_rows())
    closed = file.close(0, [])
    assert closed.size == (tmp_path / "rows.parquet").stat().st_size
    read = pq.ParquetFile(path)
    assert str(read.schema).count("(Variant(1))") == 3
    rows = Projection(SCHEMA, {}).project(read.read())
    assert rows.to_pylist() == _rows().to_pylist() * groups


def test_a_footer_without_the_ids_stays_as_it_is() -> None:
    written = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), written)
    assert mark_variants(written.getvalue(), [1]) == written.getvalue()
    with pytest.raises(ValueError, match="not the end of a Parquet file"):
        mark_variants(b"something else", [1])
