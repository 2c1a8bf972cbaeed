"""Whatever stands at whatever place: the file loads, or a ConfigError points at a line."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from meltline.config.file import load_file
from meltline.errors import ConfigError

FULL = """\
version: "2"
spark: {master: "local[2]", driver_memory: 2gb, config: {spark.ui.enabled: false}}
p:
  workers: 2
  source:
    files:
      paths: [a, b]
      codec: {csv: {delimiter: ";", header: [a, b], detect_header: false}}
      compression: gzip
      polling_interval: 2s
      max_files_per_epoch: 5
      max_bytes_per_epoch: 1gb
      ignore_suffixes: [.tmp]
      storage: {s3.region: eu}
  processor:
    - add_entries: {entries: [{key: a, value: 1, add_when: "/b == 1"}]}
    - rename_keys: {entries: [{from_key: a, to_key: b}]}
    - date: {match: [{key: at, patterns: [epoch_milli]}], destination: at}
    - sql: {query: "SELECT * FROM events"}
  routes: [{paid: '/status == "PAID"'}]
  dlq: {iceberg: {table_identifier: shop.dead, catalog: {type: glue, warehouse: s3://b/w}}}
  ledger: {sqlite: {path: ledger.db}}
  on_error: drop
  sink:
    - iceberg:
        table_identifier: shop.orders
        catalog: {type: jdbc, uri: "jdbc:sqlite:c.db", warehouse: wh}
        auto_create: true
        schema:
          columns: [{name: at, type: timestamptz, required: true}]
          partition_spec: [{column: at, transform: day}]
        table_properties: {write.format.default: parquet}
        dlq: {s3: {bucket: b, key_path_prefix: x}}
        routes: [paid]
        include_keys: [a]
"""
VALUES: list[Any] = [
    None, True, 5, -1, 1.5, "x", "", "${", "${env:NOT_THERE}", [], [[]], ["x"], [None], {},
    {"a": {}}, {"": None}, [{"x": "y"}],
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in entries:
        yield (*path, key)
        if isinstance(entry, dict | list):
            yield from places(entry, (*path, key))


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = deepcopy(document)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def check(text: str, file: Path) -> None:
    file.write_text(text, encoding="utf-8")
    try:
        load_file(file)
    except ConfigError as error:
        assert "pydantic" not in str(error)
        assert re.search(rf"{re.escape(str(file))}(:\d+)?", str(error))


@pytest.mark.parametrize(
    "path", list(places(yaml.safe_load(FULL))), ids=lambda p: ".".join(map(str, p))
)
def test_any_value_at_any_place(path: tuple[Any, ...], tmp_path: Path) -> None:
    document = yaml.safe_load(FULL)
    for value in random.Random(str(path)).sample(VALUES, 6):
        check(json.dumps(put(document, path, value)), tmp_path / "p.yaml")


@pytest.mark.parametrize("seed", range(20))
def test_any_text(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    for _ in range(5):
        text = list(FULL)
        for _ in range(chance.randint(1, 8)):
            place = chance.randrange(len(text))
            text[place : place + chance.randint(0, 3)] = chance.choice(
                "{}[]:,-&*!|>'\"%@`\t\n #?x0"
            )
        check("".join(text), tmp_path / "p.yaml")


def test_the_full_document_loads(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(FULL, encoding="utf-8")
    assert list(load_file(file).pipelines) == ["p"]
