"""Tables of rows in a schema's exact Arrow types, and targets to write them to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import Transform

from meltline.model.target import UNSORTED, TableTarget


def array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Also of types that pyarrow does not build from Python: UUIDs, and dates as numbers."""
    if all(value is None for value in values):
        return pa.nulls(len(values), type_)
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, pa.array(values, type_.storage_type))
    if pa.types.is_struct(type_):
        children = [array([value and value[field.name] for value in values], field.type)
                    for field in type_]
        mask = pa.array([value is None for value in values], pa.bool_())
        return pa.StructArray.from_arrays(children, fields=list(type_), mask=mask)
    if pa.types.is_temporal(type_) and any(isinstance(value, int) for value in values):
        numbers = pa.int32() if pa.types.is_date32(type_) else pa.int64()
        return pa.array(values, numbers).cast(type_)
    return pa.array(values, type_)


def table(schema: Schema, columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    arrow = schema_to_pyarrow(schema, include_field_ids=True)
    return pa.Table.from_arrays(
        [array(columns[field.name], field.type) for field in arrow], schema=arrow)


def spec(*parts: tuple[int, Transform[Any, Any]]) -> PartitionSpec:
    """By (source id, transform)."""
    return PartitionSpec(*(
        PartitionField(source, 1000 + place, transform, f"p{place}")
        for place, (source, transform) in enumerate(parts)), spec_id=3)


def target(
    folder: Path, schema: Schema, by: PartitionSpec | None = None,
    properties: Mapping[str, str] | None = None, sort: str | None = None,
) -> TableTarget:
    """A table in a local folder."""
    return TableTarget(
        table="db.t", uuid="0", schema_json=schema.model_dump_json(),
        spec_json=(by or PartitionSpec(spec_id=3)).model_dump_json(),
        location=folder.as_posix(), properties=properties or {}, io_properties={},
        sort_json=sort or UNSORTED)
