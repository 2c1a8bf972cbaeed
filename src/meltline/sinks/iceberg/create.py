"""Tables that the sink creates: from the schema in the YAML, or from a guess. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from meltline.config import iceberg_type as types
from meltline.config.table_schema import SchemaBlock


def schema_json(block: SchemaBlock, identifiers: Sequence[str] = ()) -> str:
    """Iceberg's JSON of the schema; ids are unique here, the catalog may assign others.

    Identifier columns become the table's identifier fields when all of them are required."""
    ids = _Ids()
    fields = [ids.field(column.name, column.iceberg_type, column.required)
              for column in block.columns]
    chosen = [field["id"] for field in fields if field["name"] in identifiers and field["required"]]
    if len(chosen) < len(set(identifiers)):
        chosen = []
    return json.dumps({"type": "struct", "schema-id": 0, "fields": fields,
                       **({"identifier-field-ids": chosen} if chosen else {})})


def spec_json(block: SchemaBlock) -> str:
    """Iceberg's JSON of the partition spec, over the ids of `schema_json`."""
    schema = json.loads(schema_json(block))
    fields = [
        {"name": _partition_name(part.column, part.transform), "transform": part.transform,
         "source-id": _find(schema["fields"], part.column), "field-id": 1000 + i}
        for i, part in enumerate(block.partition_spec)]
    return json.dumps({"spec-id": 0, "fields": fields})


def _partition_name(column: str, transform: str) -> str:
    """`at_day`, as Spark names it; an identity partition has the column's own name."""
    plain = column.replace(".", "_")
    kind = transform.partition("[")[0]
    return {"identity": column, "bucket": f"{plain}_bucket", "truncate": f"{plain}_trunc",
            "void": f"{plain}_null"}.get(kind, f"{plain}_{kind}")


def _find(fields: list[dict[str, Any]], path: str) -> int:
    """A column by its whole name first: a name may hold a dot."""
    for field in fields:
        if field["name"] == path:
            return int(field["id"])
    for field in fields:
        if path.startswith(field["name"] + ".") and isinstance(field["type"], dict):
            return _find(field["type"]["fields"], path[len(field["name"]) + 1:])
    raise KeyError(path)


class _Ids:
    def __init__(self) -> None:
        self._last = 0

    def _next(self) -> int:
        self._last += 1
        return self._last

    def field(self, name: str, type_: types.IcebergType, required: bool) -> dict[str, Any]:
        return {"id": self._next(), "name": name, "required": required, "type": self._type(type_)}

    def _type(self, type_: types.IcebergType) -> Any:
        if isinstance(type_, types.StructType):
            return {"type": "struct",
                    "fields": [self.field(f.name, f.type, False) for f in type_.fields]}
        if isinstance(type_, types.ListType):
            return {"type": "list", "element-id": self._next(), "element-required": False,
                    "element": self._type(type_.element)}
        if isinstance(type_, types.MapType):
            return {"type": "map", "key-id": self._next(), "value-id": self._next(),
                    "key": self._type(type_.key), "value": self._type(type_.value),
                    "value-required": False}
        if isinstance(type_, types.DecimalType):
            return f"decimal({type_.precision}, {type_.scale})"
        return str(type_)
