"""Schemas with types that pyiceberg does not know."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyiceberg.types import UnknownType

from meltline.errors import UserError
from meltline.model.columns import columns
from meltline.model.schema_text import load_schema
from meltline.model.table_view import parse_schema, readable_schema
from meltline.model.variant import VariantType


def schema_text(*types: Any) -> str:
    return json.dumps({"type": "struct", "schema-id": 3, "identifier-field-ids": [1], "fields": [
        {"id": 1, "name": "id", "required": True, "type": "long"},
        *({"id": 10 * (i + 1), "name": f"c{i}", "required": False, "type": type_}
          for i, type_ in enumerate(types))]})


STRUCT = {"type": "struct",
          "fields": [{"id": 11, "name": "variant", "required": False, "type": "variant"}]}
LIST = {"type": "list", "element-id": 21, "element-required": False, "element": "variant"}
MAP = {"type": "map", "key-id": 31, "key": "string", "value-id": 32, "value-required": False,
       "value": "variant"}


def test_variants_at_every_depth() -> None:
    schema = load_schema(schema_text(STRUCT, LIST, MAP, "variant"))
    found = [column.id for column in columns(schema.as_struct())
             if isinstance(column.type, VariantType)]
    assert found == [11, 21, 32, 40]
    assert (schema.schema_id, schema.identifier_field_ids) == (3, [1])


def test_what_is_read_is_written_the_same() -> None:
    schema = load_schema(schema_text("variant", LIST))
    assert load_schema(schema.model_dump_json()) == schema
    assert '"type":"variant"' in schema.fields[1].model_dump_json()


def test_a_name_is_no_type() -> None:
    text = schema_text("string").replace("c0", "variant")
    assert str(load_schema(text).fields[1].field_type) == "string"


def test_unknown_is_a_type() -> None:
    assert parse_schema(schema_text("unknown"), "t").fields[1].field_type == UnknownType()


@pytest.mark.parametrize("type_", ["geometry", "geography"])
def test_types_that_cannot_be_read_are_named(type_: str) -> None:
    text = schema_text({"type": "list", "element-id": 11, "element-required": False,
                        "element": type_})
    with pytest.raises(UserError, match=rf'"c0\.element" of table shop\.t has the type {type_}'):
        readable_schema(text, "shop.t")
    # a column that was dropped does no harm
    assert parse_schema(text, "shop.t")
    with pytest.raises(UserError, match="cannot be read"):
        parse_schema(schema_text("hologram"), "shop.t")
