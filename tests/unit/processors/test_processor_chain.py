"""Processors one after the other."""

from __future__ import annotations

import json

from meltline.config.processors import ProcessorBlock
from meltline.model.event import Shape
from meltline.processors import compile_processors
from meltline.processors.step import Step
from tests.unit.processors.running import BAD_TEXT, JSON_SHAPE, Blocks, run_json


def test_no_processors() -> None:
    assert compile_processors([], JSON_SHAPE) == ()


def test_every_step_knows_the_shape_before_it() -> None:
    blocks: Blocks = [
        {"rename_keys": {"entries": [{"from_key": "id", "to_key": "key"}]}},
        {"convert_type": {"key": "key", "type": "long", "tags_on_failure": ["no_key"]}},
        {"date": {"match": [{"key": "at", "patterns": ["epoch_milli"]}], "destination": "at"}},
        {"add_entries": {"entries": [
            {"metadata_key": "table", "format": "t_${kind}"},
            {"key": "failed", "value": True, "add_when": 'hasTags("no_key")'}]}},
        {"delete_entries": {"with_keys": ["kind"]}},
        {"select_entries": {"include_keys_regex": [".*"]}},
    ]  # fmt: skip
    rows, shape = run_json(
        blocks,
        ['{"id":"7","at":1714979289123,"kind":"a","price":12.50}', '{"id":"x","kind":"b"}'],
    )
    assert [json.loads(row["body"]) for row in rows] == [
        {"at": "2024-05-06T07:08:09.123Z", "price": 12.5, "key": 7},
        {"key": "x", "failed": True},
    ]
    assert '"price":12.50' in rows[0]["body"]
    assert [row["meta"]["table"] for row in rows] == ["t_a", "t_b"]
    assert [row["ord"] for row in rows] == [0, 1]
    assert list(shape.metadata) == ["table_name", "count", "tags", "table"]


def test_a_step_is_one_select_over_events() -> None:
    block = ProcessorBlock.model_validate(
        {"add_entries": {"entries": [{"key": "a", "value": 1, "overwrite_if_key_exists": True}]}}
    )
    (step,) = compile_processors([block], Shape("json"))
    assert isinstance(step, Step)
    assert step.sql.startswith("SELECT * EXCLUDE (_1) FROM (SELECT * REPLACE (CASE WHEN _1 IS NULL")
    assert (
        "FROM (SELECT *, CASE WHEN bad IS NULL THEN '1' ELSE NULL END AS _1 FROM events)"
        in step.sql
    )
    assert step.shape == Shape("json")


def test_many_bad_events_among_good_ones_do_no_harm() -> None:
    blocks: Blocks = [
        {"add_entries": {"entries": [
            {"key": "b", "value_expression": "/a + 1", "add_when": "/a > 1 and /c == null"}]}},
        {"rename_keys": {"entries": [{"from_key": "a", "to_key": "z", "rename_when": "/b > 0"}]}},
        {"convert_type": {"key": "z", "type": "string", "tags_on_failure": ["t"]}},
        {"delete_entries": {"with_keys_regex": ["c.*"], "delete_when": "/z != null"}},
        {"sql": {"query": "SELECT json_set(body, '/q', '1') AS body, meta, ord FROM events"}},
    ]  # fmt: skip
    bodies = [f'{{"a":{n}}}' if n % 3 else BAD_TEXT for n in range(3000)]
    rows, _ = run_json(blocks, bodies)
    assert [row["body"] == BAD_TEXT for row in rows] == [not n % 3 for n in range(3000)]
    assert json.loads(rows[5]["body"]) == {"b": 6, "z": "5", "q": 1}
