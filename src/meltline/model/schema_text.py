"""A schema out of Iceberg's JSON, with the types that pyiceberg does not know. Pure."""

from __future__ import annotations

import json
from typing import Any

from pyiceberg.schema import Schema

from meltline.model.variant import VariantType


def load_schema(text: str) -> Schema:
    """Raises what pyiceberg raises (ValueError, TypeError, NotImplementedError) for a schema that
    it cannot read."""
    if '"variant"' not in text:
        return Schema.model_validate_json(text)
    body = json.loads(text)
    # Iceberg has no defaults for variants, so none is looked at here
    return Schema.model_validate({**body, "fields": [_field(one) for one in body["fields"]]})


def _field(field: dict[str, Any]) -> dict[str, Any]:
    return {**field, "type": _type(field["type"])}


def _type(type_: Any) -> Any:
    if type_ == "variant":
        return VariantType()
    if not isinstance(type_, dict):
        return type_
    if type_["type"] == "struct":
        return {**type_, "fields": [_field(one) for one in type_["fields"]]}
    inner = ("element",) if type_["type"] == "list" else ("key", "value")
    return {**type_, **{name: _type(type_[name]) for name in inner}}
