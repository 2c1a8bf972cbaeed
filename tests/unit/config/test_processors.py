"""The options of processors: what is accepted, and what is said about the rest."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from meltline.config import processors
from meltline.config.processors import ProcessorBlock


def test_defaults() -> None:
    block = ProcessorBlock.model_validate({"convert_type": {"key": "a"}})
    assert block.convert_type is not None
    assert (block.convert_type.type, block.convert_type.scale) == ("integer", 0)
    block = ProcessorBlock.model_validate({"date": {"from_time_received": True}})
    assert block.date is not None
    assert block.date.destination == "@timestamp"
    assert block.date.output_format == "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"
    block = ProcessorBlock.model_validate(
        {"add_entries": {"entries": [{"key": "a", "value": None}]}}
    )
    assert block.add_entries is not None
    entry = block.add_entries.entries[0]
    assert (entry.overwrite_if_key_exists, entry.append_if_key_exists) == (False, False)


@pytest.mark.parametrize("name", ["null_values", "null_conversion_values"])
def test_both_names_of_the_null_values(name: str) -> None:
    block = ProcessorBlock.model_validate({"convert_entry_type": {"key": "a", name: ["-"]}})
    assert block.convert_entry_type is not None
    assert block.convert_entry_type.null_conversion_values == ("-",)


def add(**entry: Any) -> dict[str, Any]:
    return {"add_entries": {"entries": [entry]}}


def rename(**entry: Any) -> dict[str, Any]:
    return {"rename_keys": {"entries": [entry]}}


def date(pattern: str = "yyyy", **options: Any) -> dict[str, Any]:
    return {"date": {"match": [{"key": "a", "patterns": [pattern]}], **options}}


@pytest.mark.parametrize(
    ("block", "place", "message"),
    [
        ({}, "", "nothing is named here"),
        ({"grok": {}}, "grok", "Extra inputs"),
        (
            {"sql": {"query": "SELECT 1"}, "date": {"from_time_received": True}},
            "",
            "date and sql are named together",
        ),
        ({"sql": None}, "sql.query", "Field required"),
        ({"add_entries": {}}, "add_entries.entries", "Field required"),
        ({"add_entries": {"entries": []}}, "add_entries.entries", "expected at least one"),
        (add(key="a"), "add_entries.entries.0", "exactly one of: value, format, value_expression"),
        (add(key="a", value=1, format="x"), "add_entries.entries.0", "exactly one of: value"),
        (add(value=1), "add_entries.entries.0", "exactly one of: key, metadata_key"),
        (add(key="", value=1), "add_entries.entries.0.key", "a key cannot be empty"),
        (add(key="${a}", value=1), "add_entries.entries.0.key", "a key is fixed text"),
        (add(key="a", value=1, iterate_on="b"), "add_entries.entries.0.iterate_on", "Extra inputs"),
        (add(key="a", value={1, 2}), "add_entries.entries.0", "value is not JSON"),
        (
            add(key="a", value=1, overwrite_if_key_exists=True, append_if_key_exists=True),
            "add_entries.entries.0",
            "not both",
        ),
        (
            add(key="a", value=1, add_when="/a = 1"),
            "add_entries.entries.0.add_when",
            "unexpected character '='\n   /a = 1\n      ^",
        ),
        (
            add(key="a", value=1, add_when="/a + 1"),
            "add_entries.entries.0.add_when",
            "expected a condition",
        ),
        (
            add(key="a", value_expression="lenght(/a)"),
            "add_entries.entries.0.value_expression",
            'unknown function "lenght"',
        ),
        (add(key="a", format="${b"), "add_entries.entries.0.format", "the ${ is not closed"),
        (rename(to_key="b"), "rename_keys.entries.0", "exactly one of: from_key, from_key_regex"),
        (rename(from_key="a"), "rename_keys.entries.0.to_key", "Field required"),
        (
            rename(from_key_regex="(", to_key="b"),
            "rename_keys.entries.0.from_key_regex",
            "not a regular expression: missing ): (",
        ),
        ({"delete_entries": {}}, "delete_entries", "exactly one of: entries, with_keys"),
        (
            {"delete_entries": {"with_keys": ["a"], "entries": [{"with_keys": ["a"]}]}},
            "delete_entries",
            "exactly one of: entries, with_keys",
        ),
        (
            {"delete_entries": {"with_keys": ["a"], "exclude_from_delete": ["b"]}},
            "delete_entries",
            "exclude_from_delete needs with_keys_regex",
        ),
        (
            {"delete_entries": {"entries": [{"delete_when": "/a"}]}},
            "delete_entries.entries.0",
            "at least one of: with_keys, with_keys_regex",
        ),
        ({"select_entries": {}}, "select_entries", "at least one of: include_keys"),
        ({"convert_type": {"type": "integer"}}, "convert_type", "exactly one of: key, keys"),
        ({"convert_type": {"key": "a", "type": "date"}}, "convert_type.type", "'big_decimal'"),
        ({"convert_type": {"key": "a", "scale": 38}}, "convert_type.scale", "less than or equal"),
        ({"date": {"match": []}}, "date.match", "expected exactly one, found 0"),
        ({"date": {}}, "date", "exactly one of: match, from_time_received"),
        (date(from_time_received=True), "date", "exactly one of: match, from_time_received"),
        (date("yy"), "date.match.0.patterns.0", '"yy" is not supported'),
        (date("yyyy[-MM]"), "date.match.0.patterns.0", '"[" is not supported'),
        (date("yyyy 'x"), "date.match.0.patterns.0", "a quote is not closed"),
        (
            date("epoch_day"),
            "date.match.0.patterns.0",
            "unknown epoch pattern; known: epoch_second",
        ),
        (date(output_format="HH z"), "date.output_format", '"z" can only be read'),
        (date(source_timezone="Mars"), "date.source_timezone", '"Mars" is not a time zone'),
        (date(locale="fr-FR"), "date.locale", "only English names"),
        ({"sql": {"query": "SELEC 1"}}, "sql.query", 'syntax error at or near "SELEC"'),
        ({"sql": {"query": "DROP TABLE x"}}, "sql.query", "not a SELECT"),
        ({"sql": {"query": "SELECT 1; SELECT 2"}}, "sql.query", "exactly one SELECT"),
    ],
)
def test_mistakes(block: dict[str, Any], place: str, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ProcessorBlock.model_validate(block)
    errors = caught.value.errors()
    assert [".".join(map(str, error["loc"])) for error in errors] == [place]
    assert message in errors[0]["msg"]


def test_hints_come_with_the_error() -> None:
    for block, hint in (
        (
            {},
            "name exactly one of: add_entries, rename_keys, delete_entries, select_entries, "
            "convert_type, convert_entry_type, date, sql",
        ),
        (add(key="a", value_expression="lenght(/a)"), 'did you mean "length"?'),
    ):
        with pytest.raises(ValidationError) as caught:
            ProcessorBlock.model_validate(block)
        assert caught.value.errors()[0]["ctx"]["error"].hint == hint


def test_every_option_has_a_description() -> None:
    for model in vars(processors).values():
        if isinstance(model, type) and issubclass(model, BaseModel):
            for name, field in model.model_fields.items():
                assert field.description, f"{model.__name__}.{name}"
