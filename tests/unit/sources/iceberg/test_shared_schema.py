"""A source and its copy in the same columns."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyiceberg.schema import Schema

from meltline.sources.iceberg.shared_schema import FIRST_ABSENT_ID, SharedSchema, Unlike, share

Column = tuple[int, str, Any]


def schema(*columns: Column, **more: Any) -> str:
    return json.dumps({"type": "struct", "schema-id": 0, **more, "fields": [
        {"id": id_, "name": name, "required": True, "type": type_}
        for id_, name, type_ in columns]})


def both(shared: SharedSchema) -> list[tuple[str, str, int, int]]:
    """Name, type, and the ids on both sides, column by column."""
    ours, theirs = (Schema.model_validate_json(text) for text in (shared.source, shared.copy))
    found = []
    for one, other in zip(ours.fields, theirs.fields, strict=True):
        assert (one.name, one.required) == (other.name, other.required) == (one.name, False)
        found.append((one.name, str(one.field_type), one.field_id, other.field_id))
    return found


def test_columns_belong_together_by_name() -> None:
    shared = share(schema((7, "id", "long"), (9, "v", "string")),
                   schema((1, "v", "string"), (2, "id", "long"), (3, "more", "date")), ["id"])
    assert both(shared) == [("id", "long", 7, 2), ("v", "string", 9, 1)]
    assert (shared.source_keys, shared.copy_keys) == ((7,), (2,))


@pytest.mark.parametrize(("ours", "theirs", "wide"), [
    ("int", "long", "long"), ("long", "int", "long"), ("float", "double", "double"),
    ("decimal(9, 2)", "decimal(12, 2)", "decimal(12, 2)"),
    ("decimal(12, 2)", "decimal(9, 2)", "decimal(12, 2)")])
def test_the_wider_type_serves_both(ours: str, theirs: str, wide: str) -> None:
    shared = share(schema((1, "id", "long"), (2, "v", ours)),
                   schema((1, "id", "long"), (2, "v", theirs)), ["id"])
    assert both(shared)[1] == ("v", wide, 2, 2)


def test_a_column_that_the_copy_lacks_is_found_in_no_file() -> None:
    nested = {"type": "list", "element-id": 5, "element-required": True, "element": "string"}
    shared = share(schema((1, "id", "long"), (2, "id2", nested)), schema((1, "id", "long")), ["id"])
    theirs = Schema.model_validate_json(shared.copy)
    ids = [id_ for id_ in theirs._lazy_id_to_field if id_ != 1]
    assert len(ids) == 2
    assert min(ids) >= FIRST_ABSENT_ID


def test_inside_of_columns_names_count_too() -> None:
    def struct(first: int, *names: str) -> dict[str, Any]:
        return {"type": "struct", "fields": [
            {"id": first + i, "name": name, "required": True, "type": "int"}
            for i, name in enumerate(names)]}

    shared = share(schema((1, "id", "long"), (2, "s", struct(10, "a", "b"))),
                   schema((1, "id", "long"), (2, "s", struct(20, "b", "x", "a"))), ["id"])
    theirs = Schema.model_validate_json(shared.copy)
    assert [(field.name, field.field_id) for field in
            theirs.find_field("s").field_type.fields] == [("a", 22), ("b", 20)]  # type: ignore[attr-defined]


def test_the_identifier_fields_of_the_copy_are_keys_without_names() -> None:
    columns = ((1, "id", "long"), (2, "v", "string"))
    shared = share(schema(*columns), schema(*columns, **{"identifier-field-ids": [2]}), [])
    assert shared.source_keys == (2,)


def test_letter_case_counts_unless_it_does_not() -> None:
    ours, theirs = schema((1, "ID", "long")), schema((5, "id", "long"))
    with pytest.raises(Unlike):
        share(ours, theirs, ["id"])
    shared = share(ours, theirs, ["Id"], any_case=True)
    assert both(shared) == [("ID", "long", 1, 5)]


@pytest.mark.parametrize(("ours", "theirs", "keys", "why"), [
    (schema((1, "id", "long")), schema((1, "id", "string")), ["id"], "long in the source, string"),
    (schema((1, "id", "long"), (2, "v", "timestamp")),
     schema((1, "id", "long"), (2, "v", "timestamptz")), ["id"], '"v"'),
    (schema((1, "v", "long")), schema((1, "id", "long")), ["id"], "not in both"),
    (schema((1, "id", "long")), schema((1, "v", "long")), ["id"], "not in both"),
    (schema((1, "id", "long")), schema((1, "id", "long")), [], "nothing says"),
])
def test_what_cannot_be_compared_is_named(
    ours: str, theirs: str, keys: list[str], why: str
) -> None:
    with pytest.raises(Unlike, match=why):
        share(ours, theirs, keys)
