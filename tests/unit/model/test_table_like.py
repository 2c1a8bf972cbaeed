"""What a source says of the table that its rows come from."""

from __future__ import annotations

import json

from meltline.model.table_like import (
    TableLike,
    fitting_spec,
    like_nothing,
    processed,
    with_identifiers,
)

SCHEMA = json.dumps({"type": "struct", "schema-id": 0, "fields": [
    {"id": 1, "name": "id", "required": True, "type": "long"},
    {"id": 2, "name": "v", "required": False, "type": "long"}]})


def test_behind_processors_the_rows_are_no_longer_as_they_were() -> None:
    known = TableLike(SCHEMA, identifiers=("id",))
    changed = processed(lambda: known)()
    assert changed is not None
    assert not changed.as_is
    assert changed.identifiers == ("id",)
    assert processed(lambda: None)() is None
    assert processed(like_nothing) is like_nothing


def test_identifier_fields_must_be_required() -> None:
    assert json.loads(with_identifiers(SCHEMA, [1]))["identifier-field-ids"] == [1]
    assert "identifier-field-ids" not in json.loads(with_identifiers(SCHEMA, [1, 2]))


def test_a_spec_fits_a_schema_that_has_its_columns() -> None:
    spec = json.dumps({"spec-id": 0, "fields": [
        {"name": "v", "transform": "identity", "source-id": 2, "field-id": 1000}]})
    assert fitting_spec(SCHEMA, spec) == spec
    assert fitting_spec(SCHEMA, spec.replace('"source-id": 2', '"source-id": 3')) is None


def test_fields_that_were_removed_from_a_spec_of_version_1_are_left_out() -> None:
    fields = [{"name": "gone", "transform": "void", "source-id": 9, "field-id": 1000},
              {"name": "v", "transform": "identity", "source-id": 2, "field-id": 1001}]
    found = fitting_spec(SCHEMA, json.dumps({"spec-id": 1, "fields": fields}))
    assert found is not None
    assert json.loads(found)["fields"] == fields[1:]
