"""Variants that cannot be read stop the lane, and the error says which ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import ListType, MapType, NestedField, StringType, StructType

from meltline.errors import Retryable, RunError
from meltline.kernels.arrow_schema import arrow_schema
from meltline.kernels.projection import Projection
from meltline.kernels.row_reader import read_rows
from meltline.kernels.storage import open_storage
from meltline.kernels.variant_array import variant_array
from meltline.kernels.variant_check import check_variants
from meltline.model.variant import VariantType
from tests.unit.kernels.variants import Bytes, Raw, encode, nested, primitive

V = VariantType()
SCHEMA = Schema(
    NestedField(1, "v", V), NestedField(2, "s", StructType(NestedField(3, "w", V))),
    NestedField(4, "l", ListType(5, V, element_required=False)),
    NestedField(6, "m", MapType(7, StringType(), 8, V, value_required=False)))
TWICE = Raw(bytes((2,)) + bytes((2, 0, 0, 0, 1, 2)) + b"\0\0")
BAD: dict[str, Any] = {
    "TIMESTAMP_NANOS_TZ": primitive(18, "q", 1), "more than once": TWICE,
    "DECIMAL16": primitive(10, "BQQ", 0, 2**64 - 1, 2**63 - 1),
    r"PrimitiveType \(21\)": primitive(21, "q", 1), "exceed": Raw(b"\x18\x00")}


def rows(**values: Any) -> pa.Table:
    return pa.Table.from_pylist([{}, values], schema=arrow_schema(SCHEMA))


def bad(value: Any) -> Bytes:
    return encode([value], names=("a",))


@pytest.mark.parametrize("reason", BAD)
def test_what_cannot_be_read(reason: str) -> None:
    with pytest.raises(RunError, match=f"(?s)column v .*{reason}.*hint") as raised:
        check_variants(rows(v=bad(BAD[reason])))
    assert not isinstance(raised.value, Retryable)
    check_variants(rows(v=encode("fine")))


@pytest.mark.parametrize("column", ["s", "l", "m"])
def test_at_any_depth(column: str) -> None:
    value = bad(TWICE)
    nested = {"s": {"w": value}, "l": [None, value], "m": [("k", value)]}[column]
    with pytest.raises(RunError, match=f"column {column} "):
        check_variants(rows(**{column: nested}))


def test_what_can_be_read() -> None:
    fine = encode({"a": [1, "HHH", None]})
    check_variants(rows(v=fine, s={"w": None}, l=[fine, None], m=[("k", fine)]))
    check_variants(rows().slice(0, 0))


def test_the_file_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.parquet")
    pq.write_table(rows(v=bad(TWICE)), path)
    with pytest.raises(RunError, match="column v") as raised:
        list(read_rows(open_storage({}), path, "parquet", Projection(SCHEMA, {})))
    assert raised.value.at == path


def test_a_field_both_shredded_and_not(tmp_path: Path) -> None:
    field = pa.struct([pa.field("value", pa.binary()), pa.field("typed_value", pa.int64())])
    inside = pa.struct([pa.field("a", field, nullable=False)])
    type_ = pa.struct([pa.field("metadata", pa.binary(), nullable=False),
                       pa.field("value", pa.binary()), pa.field("typed_value", inside)])
    array = pa.array([{**encode({"a": 9}), "typed_value": {"a": {"typed_value": 1}}}], type_)
    path = str(tmp_path / "rows.parquet")
    pq.write_table(pa.Table.from_arrays([array], schema=pa.schema(
        [pa.field("v", type_, metadata={"PARQUET:field_id": "1"})])), path)
    with pytest.raises(RunError, match=r"column v .*more than once"):
        list(read_rows(open_storage({}), path, "parquet", Projection(SCHEMA, {})))


def test_nesting_that_would_break_the_worker() -> None:
    deep = nested(100_000)
    with pytest.raises(RunError, match=r"column v .* more than 1000 deep"):
        check_variants(rows(v={"metadata": b"\1\0\0", "value": deep}))
    type_ = pa.struct([pa.field("metadata", pa.binary(), nullable=False),
                       pa.field("value", pa.binary()), pa.field("typed_value", pa.int64())])
    array = pa.array([{"metadata": b"\1\0\0", "value": deep}], type_)
    with pytest.raises(RunError, match=r"column w .* more than 1000 deep"):
        variant_array(array, "w")
    check_variants(rows(v={"metadata": b"\1\0\0", "value": nested(1000)}))


def test_shredded_variants_that_cannot_be_put_together() -> None:
    type_ = pa.struct([pa.field("metadata", pa.binary(), nullable=False),
                       pa.field("value", pa.binary()),
                       pa.field("typed_value", pa.timestamp("ns", "UTC"))])
    array = pa.array([{"metadata": b"\1\0\0", "typed_value": 1}], type_)
    with pytest.raises(RunError, match=r"(?s)column v .*shred-variants"):
        variant_array(array, "v")
