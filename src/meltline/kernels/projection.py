"""Columns of a file as a table's schema wants them: by field id, not by name or place.

Renamed, reordered, widened, dropped and added columns, nested ones too, come out as the schema
says; what a file lacks is its partition's value, the column's initial default, or null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyiceberg.io.pyarrow import (
    _to_requested_schema,
    pyarrow_to_schema,
    schema_to_pyarrow,
)
from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import NameMapping, parse_mapping_from_json

from meltline.errors import RunError


class Projection:
    """For one schema; used for many files. Files of equal columns are looked at once."""

    def __init__(self, schema: Schema, name_mapping: str | None = None) -> None:
        self.schema = schema
        self.arrow_schema: pa.Schema = schema_to_pyarrow(schema, include_field_ids=False)
        self._mapping = parse_mapping_from_json(name_mapping) if name_mapping else None
        self._wanted = {one.field_id for one in schema.fields}
        self._known: dict[bytes, FileColumns] = {}

    def columns(self, file_schema: pa.Schema) -> FileColumns:
        key = file_schema.serialize().to_pybytes()
        if key not in self._known:
            self._known[key] = FileColumns(
                self, _with_ids(file_schema, self._mapping), self._wanted)
        return self._known[key]


@dataclass
class FileColumns:
    """What to read from files with one set of columns, and how to bend it."""

    projection: Projection
    file_schema: Schema
    wanted: set[int]
    names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        fields = self.file_schema.fields
        self.names = [one.name for one in fields if one.field_id in self.wanted]
        if not self.names and fields:
            # something must be read, or nobody knows how many rows there are
            self.names = [fields[0].name]

    def project(self, batch: pa.RecordBatch, constants: Mapping[int, Any]) -> pa.Table:
        """`constants` are the values of identity partition columns, for files without them."""
        bent = _to_requested_schema(
            self.projection.schema, self.file_schema, batch, downcast_ns_timestamp_to_us=True,
            projected_missing_fields=dict(constants), allow_timestamp_tz_mismatch=True)
        return pa.Table.from_batches([bent]).cast(self.projection.arrow_schema)


def _with_ids(file_schema: pa.Schema, mapping: NameMapping | None) -> Schema:
    try:
        return pyarrow_to_schema(file_schema, mapping, format_version=3)
    except ValueError as error:
        raise RunError(
            f"a data file carries no field ids ({error})",
            hint="set the table property schema.name-mapping.default") from error
