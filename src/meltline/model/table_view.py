"""An Iceberg table as the workers see it while they read one snapshot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import GeographyType, GeometryType, NestedField

from meltline.errors import UserError
from meltline.model.columns import columns
from meltline.model.content import DataFile
from meltline.model.schema_text import load_schema


@dataclass(frozen=True)
class TableView:
    """Plain text, so that it travels as it is.

    `schemas` are all the table ever had, newest last: a delete may speak of a dropped column.
    `identifiers` are the field ids of the identifier columns. `base_sequence` is the sequence
    number of the state that the snapshot is compared with, if it comes from that one.
    """

    table: str
    snapshot_id: int
    sequence: int
    timestamp_ms: int
    schema_json: str
    schemas: tuple[str, ...] = ()
    specs: Mapping[int, str] = field(default_factory=dict)
    identifiers: tuple[int, ...] = ()
    row_ids: bool = False
    name_mapping: str | None = None
    io_properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    base_sequence: int | None = None

    @cached_property
    def schema(self) -> Schema:
        return readable_schema(self.schema_json, self.table)

    @cached_property
    def identifier_fields(self) -> tuple[NestedField, ...]:
        return tuple(self.schema.find_field(id_) for id_ in self.identifiers)

    def find_field(self, field_id: int) -> NestedField:
        """A column by its id, also one that was dropped."""
        for text in (self.schema_json, *reversed(self.schemas)):
            found: NestedField | None = next(
                (one for one in parse_schema(text, self.table).fields
                 if one.field_id == field_id), None)
            if found is not None:
                return found
        raise UserError(f"table {self.table} never had a column of the id {field_id}")

    def constants(self, file: DataFile) -> dict[int, Any]:
        """Values of identity partition columns by field id: files may leave such columns out."""
        fields = json.loads(self.specs.get(file.spec_id, '{"fields": []}'))["fields"]
        return {int(one["source-id"]): value
                for one, value in zip(fields, file.partition, strict=False)
                if one["transform"] == "identity" and value is not None}

    def __getstate__(self) -> dict[str, Any]:
        """Parsed parts stay where they were made."""
        return {name: value for name, value in self.__dict__.items()
                if name not in ("schema", "identifier_fields")}


def parse_schema(text: str, table: str) -> Schema:
    """Raises UserError for a column of a type that nobody knows."""
    try:
        return load_schema(text)
    except ValueError as error:
        raise UserError(f"table {table} has a column of a type that cannot be read: {error}"
                        ) from error


def readable_schema(text: str, table: str) -> Schema:
    """For rows that are read: types that are known, but not read, are an error too."""
    schema = parse_schema(text, table)
    for column in columns(schema.as_struct()):
        if isinstance(column.type, GeometryType | GeographyType):
            raise UserError(f'column "{column.path}" of table {table} has the type {column.type}, '
                            f"which cannot be read")
    return schema
