"""Whole pipelines, file to table, on one local catalog."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from meltline.errors import EventsRejected, RunError, UserError
from meltline.testing import PowerCut
from tests.catalogs import Properties, s3_properties
from tests.lab import Lab
from tests.services.s3 import S3
from tests.shop import ORDERS, Shop


@pytest.fixture
def lab(tmp_path: Path, spark: SparkSession, make_catalog: Callable[[str], Properties]) -> Lab:
    return Lab(tmp_path, make_catalog("jdbc-sqlite"), spark)


def letters_of(folder: Path) -> list[dict[str, Any]]:
    found = []
    for file in sorted(folder.glob("dlq-v*.json")):
        found += json.loads(file.read_text())["dlqObjects"]
    return found


def test_a_schema_is_inferred_from_the_first_epoch(lab: Lab) -> None:
    lab.sinks = [{"table_identifier": "s.t", "auto_create": True}]
    lab.drop_file([{"a": 1, "b": 1.5, "c": "x", "d": True, "e": {"f": [1, 2]}, "g": [], "h": {},
                    "i": None}, {"a": 2.5, "c": 7}])
    lab.run()
    schema = {f.name: str(f.field_type) for f in lab.table("s.t").target().schema.fields}
    assert {name: type_ for name, type_ in schema.items() if name != "e"} == {
        "a": "double", "b": "double", "c": "string", "d": "boolean", "g": "string",
        "h": "string", "i": "string"}
    assert schema["e"].startswith("struct<")
    rows = {row["a"]: row for row in lab.rows("s.t")}
    assert rows[1.0]["e"] == {"f": [1, 2]}
    assert rows[2.5]["c"] == "7"


def test_new_fields_become_columns_also_nested_ones(lab: Lab) -> None:
    lab.sinks = [{"table_identifier": "s.t", "auto_create": True, "schema_evolution": True}]
    lab.drop_file([{"id": 1, "who": {"name": "a"}}])
    lab.run()
    lab.drop_file([{"id": 2, "who": {"name": "b", "age": 7}, "tags": ["x"]}, {"id": 3, "n": None}])
    lab.run()
    rows = sorted(lab.rows("s.t"), key=lambda row: row["id"])
    assert rows == [{"id": 1, "who": {"name": "a", "age": None}, "tags": None},
                    {"id": 2, "who": {"name": "b", "age": 7}, "tags": ["x"]},
                    {"id": 3, "who": None, "tags": None}]
    assert lab.epochs("s.t") == [1, 2]


def test_without_evolution_extra_fields_are_ignored(lab: Lab) -> None:
    lab.sinks = [{"table_identifier": "s.t", "auto_create": True}]
    lab.drop_file([{"id": 1}])
    lab.run()
    lab.drop_file([{"id": 2, "extra": 1}])
    lab.run()
    assert sorted(row["id"] for row in lab.rows("s.t")) == [1, 2]
    assert set(lab.rows("s.t")[0]) == {"id"}


def test_refused_events_without_a_dlq_fail_the_epoch_and_publish_nothing(lab: Lab) -> None:
    lab.sinks = [{key: value for key, value in ORDERS.items() if key != "dlq"}]
    lab.drop_file([{"id": 1}, {"id": "x"}, {"status": "NEW"}])
    with pytest.raises(EventsRejected, match=r"2 events refused by table shop.orders"):
        lab.run()
    assert lab.snapshots("shop.orders") == []
    lab.sinks[0]["on_error"] = "drop"
    lab.run()
    assert [row["id"] for row in lab.rows("shop.orders")] == [1]


def test_dead_letters_go_to_files_in_data_preppers_form(lab: Lab) -> None:
    lab.sinks = [{**ORDERS, "dlq": {"file": {"path": "dlq"}}}]
    lab.drop_file([{"id": 1}, "broken", {"status": "ü"}])
    lab.run()
    letters = letters_of(lab.base / "dlq")
    assert [letter["failedData"]["document"] for letter in letters] == ["broken", {"status": "ü"}]
    assert letters[0]["pipelineName"] == "lab"
    assert letters[0]["failedData"]["source"]["line"] == 2
    assert "not valid JSON" in letters[0]["failedData"]["message"]
    assert not list((lab.base / "dlq" / ".staging").iterdir())


@pytest.mark.parametrize("point", ["publish.letters", "publish.table"])
def test_dead_letter_files_are_written_once_over_a_crash(lab: Lab, point: str) -> None:
    lab.sinks = [{**ORDERS, "dlq": {"file": {"path": "dlq"}}}]
    lab.drop_file([{"id": 1}, "broken", {"status": "x"}])
    with pytest.raises(PowerCut):
        lab.run(crash_at=point)
    lab.run()
    assert len(letters_of(lab.base / "dlq")) == 2
    assert len(lab.rows("shop.orders")) == 1


def test_files_and_dead_letters_on_s3(lab: Lab, s3: S3) -> None:
    storage = {key: value for key, value in s3_properties(s3).items() if key.startswith("s3.")}
    client = s3.client()
    prefix = lab.base.name
    shop = Shop(seed=5)
    for number in range(3):
        body = "\n".join(e if isinstance(e, str) else json.dumps(e) for e in shop.events(50))
        client.put_object(Bucket="warehouse", Key=f"{prefix}/in/{number}.ndjson", Body=body)
    lab.source = {"paths": [f"s3://warehouse/{prefix}/in/*.ndjson"], "storage": storage}
    lab.sinks = [{**ORDERS, "dlq": {"s3": {"bucket": "warehouse", "storage": storage,
                                           "key_path_prefix": f"{prefix}/dlq"}}}]
    lab.run()
    lab.run()
    assert len(lab.rows("shop.orders")) == len(shop.orders)
    listed = client.list_objects_v2(Bucket="warehouse", Prefix=f"{prefix}/dlq/dlq-")["Contents"]
    letters = [letter for entry in listed for letter in json.loads(
        client.get_object(Bucket="warehouse", Key=entry["Key"])["Body"].read())["dlqObjects"]]
    assert len(letters) == len(shop.refused)


def test_processors_run_before_routes_and_dead_letters_show_the_original(lab: Lab) -> None:
    lab.extra = {
        "processor": [{"rename_keys": {"entries": [{"from_key": "nr", "to_key": "id"}]}},
                      {"add_entries": {"entries": [{"key": "kind", "value": "order"}]}}],
        "route": [{"big": "/amount > 100"}]}
    lab.sinks = [{**ORDERS, "routes": ["big"]},
                 {"table_identifier": "s.small", "auto_create": True, "routes": ["_default"]}]
    lab.drop_file([{"nr": 1, "amount": 500}, {"nr": 2, "amount": 5}, {"nr": "x", "amount": 900}])
    lab.run()
    assert [(r["id"], r["amount"]) for r in lab.rows("shop.orders")] == [(1, Decimal("500.00"))]
    assert [(r["id"], r["kind"]) for r in lab.rows("s.small")] == [(2, "order")]
    (letter,) = lab.rows("shop.dead_letters")
    assert json.loads(letter["event"]) == {"nr": "x", "amount": 900}


def test_parquet_csv_and_json_files(lab: Lab, spark: SparkSession) -> None:
    lab.sinks = [dict(ORDERS)]
    inbox = lab.base / "inbox"
    inbox.mkdir()
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "id bigint, status string").coalesce(1)
    frame.write.parquet(str(inbox / "parquet"))
    (inbox / "a.csv").write_text("id,status,amount\n3,c,1.50\n4,,\n")
    (inbox / "a.json").write_text(json.dumps({"items": [{"id": 5, "status": "e"}]}))
    for paths, codec in ((["inbox/parquet/*.parquet"], "parquet"), (["inbox/*.csv"], "csv"),
                         (["inbox/*.json"], {"json": {"key_name": "items"}})):
        lab.source = {"paths": paths, "codec": codec}
        lab.run()
    rows = sorted(lab.rows("shop.orders"), key=lambda row: row["id"])
    assert [(r["id"], r["status"], r["amount"]) for r in rows] == [
        (1, "a", None), (2, "b", None), (3, "c", Decimal("1.50")), (4, None, None), (5, "e", None)]


def test_fuzzed_events_never_crash_and_never_vanish(lab: Lab) -> None:
    chance = random.Random(99)
    events = [_fuzz(chance) for _ in range(2_000)]
    events += ["[" * 5000 + "]" * 5000, '{"a":' * 3000 + "1" + "}" * 3000, '{"id": 1e999}',
               '{"id": 12, "id": 13}', json.dumps({"id": 1, "status": "x" * (10 << 20)}),
               '{"id": 5, "status": "\\ud800"}', '{"id": 6, "status": "a\\u0000b"}', "\x00"]
    lab.sinks = [dict(ORDERS)]
    lab.drop_file(events)
    raw = lab.base / "inbox" / "raw.ndjson"
    raw.write_bytes(b'{"id": 7, "status": "\xff\xfe"}\n{"id": 8}\n')
    lab.run()
    assert len(lab.rows("shop.orders")) + len(lab.rows("shop.dead_letters")) == len(events) + 2


def _fuzz(chance: random.Random) -> str:
    value = chance.choice(["1", "-1e5", '"x"', "null", "true", "[1,{}]", '{"k":[]}', "1e400",
                           "123456789012345678901234567890", '"2024-01-01"', '""', "nul", "{", ","])
    odd = "".join(chance.choices(string.printable[:94], k=3))
    key = chance.choice(["id", "at", "amount", "status", odd])
    text = "{" + json.dumps(key) + ":" + value + "}"
    if chance.random() < 0.2:
        cut = chance.randrange(len(text))
        text = text[:cut] + chance.choice(string.printable[:94]) + text[cut + 1:]
    return text if text.strip() else "{}"


def test_a_missing_table_without_auto_create_is_the_users_mistake(lab: Lab) -> None:
    lab.sinks = [{"table_identifier": "no.such"}]
    lab.drop_file([{"id": 1}])
    with pytest.raises(UserError, match=r"table no.such does not exist"):
        lab.run()


def test_a_planned_file_that_changes_stops_the_lane(lab: Lab) -> None:
    lab.sinks = [dict(ORDERS)]
    file = lab.drop_file([{"id": 1}])
    with pytest.raises(PowerCut):
        lab.run(crash_at="record")
    file.write_text('{"id": 2}\n{"id": 3}\n')
    with pytest.raises(RunError, match=file.name):
        lab.run()


def test_ten_thousand_files_in_one_epoch(lab: Lab) -> None:
    lab.source = {"max_files_per_epoch": 20_000}
    lab.sinks = [{**ORDERS, "schema": {"columns": ORDERS["schema"]["columns"]}}]
    inbox = lab.base / "inbox"
    inbox.mkdir()
    for number in range(10_000):
        (inbox / f"{number}.ndjson").write_text(f'{{"id":{number}}}\n')
    lab.run()
    lab.run()
    assert sorted(row["id"] for row in lab.rows("shop.orders")) == list(range(10_000))
    assert lab.epochs("shop.orders") == [1]
    assert lab.snapshots("shop.orders")[0].summary["meltline.source.files"] == "10000"


def test_an_empty_epoch_makes_no_snapshot(lab: Lab) -> None:
    lab.sinks = [dict(ORDERS)]
    lab.drop_file([])
    lab.run()
    assert lab.snapshots("shop.orders") == []
    lab.drop_file([{"id": 1}])
    lab.run()
    assert lab.epochs("shop.orders") == [2]


def test_odd_fields_do_not_stop_the_lane(lab: Lab) -> None:
    """Names with dots, empty names, nesting without end, and lines that are no objects."""
    deep: Any = 1
    for _ in range(20):
        deep = {"x": deep}
    lab.sinks = [{"table_identifier": "s.t", "auto_create": True, "schema_evolution": True,
                  "dlq": {"iceberg": {"table_identifier": "s.letters"}}}]
    lab.drop_file(["[1, 2]", "5", {"id": 1, "a": {"b": 1}}])
    lab.run()
    lab.drop_file([{"id": 2, "user.name": "x", "e": {"": 1, "f": 2}, "": 3, "deep": deep},
                   {"id": 3, "g": {"": 1}}, "null"])
    lab.run()
    rows = sorted(lab.rows("s.t"), key=lambda row: row["id"])
    assert [row["id"] for row in rows] == [1, 2, 3]
    assert rows[1]["user.name"] == "x"
    assert rows[1]["e"] == {"f": 2}
    assert len(lab.rows("s.letters")) == 3


def test_one_event_may_become_several_rows(lab: Lab) -> None:
    query = "SELECT json_object('id', unnest([1, 2, 3]), 'x', 1.0) AS body, meta, ord FROM events"
    lab.extra = {"processor": [{"sql": {"query": query}}]}
    lab.sinks = [{"table_identifier": "s.t", "auto_create": True}]
    lab.drop_file([{"any": 1}, {"any": 2}])
    lab.run()
    assert sorted(row["id"] for row in lab.rows("s.t")) == [1, 1, 2, 2, 3, 3]


def test_a_table_cannot_be_sink_and_dlq_at_once(lab: Lab) -> None:
    lab.sinks = [{"table_identifier": "s.a", "auto_create": True},
                 {"table_identifier": "s.b", "auto_create": True,
                  "dlq": {"iceberg": {"table_identifier": "s.A"}}}]
    lab.drop_file([{"id": 1}])
    with pytest.raises(UserError, match=r"table s.a of pipeline 'lab' is a sink and a dlq"):
        lab.run()
