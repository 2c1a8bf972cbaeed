"""The digest of a configuration: what changes it, what does not, and that it shows nothing."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from meltline.config.digest import LEFT_OUT, configuration_digest
from meltline.config.dlq import FileDlq, IcebergDlq, S3Dlq
from meltline.config.pipeline import PipelineBlock
from meltline.config.sink_iceberg import IcebergSink
from meltline.config.source_files import FilesSource
from meltline.config.strict import Strict

SINK = {
    "table_identifier": "shop.orders", "auto_create": True, "routes": ["paid"],
    "catalog": {"type": "rest", "uri": "http://me:pass1@host/api?token=t1", "credential": "a:b"},
    "schema": {"columns": [{"name": "id", "type": "long", "required": True}]},
    "dlq": {"s3": {"bucket": "b", "storage": {"s3.secret-access-key": "k1"}}},
}
PIPELINE = {
    "source": {"files": {"paths": ["in/*"], "codec": {"csv": {"delimiter": ";"}}}},
    "processor": [{"add_entries": {"entries": [{"key": "a", "value": 1}]}}],
    "route": [{"paid": '/status == "PAID"'}],
    "sink": [{"iceberg": SINK}, {"iceberg": {"table_identifier": "shop.all"}}],
    "dlq": {"iceberg": {"table_identifier": "shop.letters"}},
}
CATALOG = ("sink", 0, "iceberg", "catalog")

CHANGES: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "codec": (("source", "files", "codec"), "ndjson"),
    "a setting of the codec": (("source", "files", "codec", "csv", "delimiter"), ","),
    "compression": (("source", "files", "compression"), "gzip"),
    "the longest line": (("source", "files", "max_line_size"), 1000),
    "a processor": (("processor", 0, "add_entries", "entries", 0, "value"), 2),
    "no processors": (("processor",), []),
    "a route": (("route", 0, "paid"), '/status == "NEW"'),
    "the routes of a sink": (("sink", 0, "iceberg", "routes"), ["_default"]),
    "a column": (("sink", 0, "iceberg", "schema", "columns", 0, "required"), False),
    "schema evolution": (("sink", 0, "iceberg", "schema_evolution"), True),
    "the keys": (("sink", 1, "iceberg", "include_keys"), ["id"]),
    "the table": (("sink", 1, "iceberg", "table_identifier"), "shop.everything"),
    "a sink less": (("sink",), PIPELINE["sink"][:1]),  # type: ignore[index]
    "the catalog's address": ((*CATALOG, "uri"), "http://other/api"),
    "the warehouse": ((*CATALOG, "warehouse"), "w"),
    "the dlq of a sink": (("sink", 0, "iceberg", "dlq", "s3", "bucket"), "c"),
    "the dlq": (("dlq", "iceberg", "table_identifier"), "shop.refused"),
    "the catalog of the dlq": (("dlq", "iceberg", "catalog"),
                               {"type": "hadoop", "warehouse": "w"}),
    "on_error": (("on_error",), "drop"),
}
NO_CHANGES: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "paths": (("source", "files", "paths"), ["in/*", "more/*"]),
    "limits": (("source", "files", "max_files_per_epoch"), 7),
    "polling": (("source", "files", "polling_interval"), "7s"),
    "lost files": (("source", "files", "missing_files"), "skip"),
    "access to the source": (("source", "files", "storage"), {"s3.access-key-id": "x"}),
    "pace": (("sink", 0, "iceberg", "commit_interval"), "7s"),
    "how files are written": (("sink", 1, "iceberg", "write_properties"), {"write.a": "b"}),
    "a credential": ((*CATALOG, "credential"), "a:c"),
    "one more credential": ((*CATALOG, "s3.secret-access-key"), "x"),
    "passwords in an address": ((*CATALOG, "uri"), "http://me:pass2@host/api?token=t2"),
    "access to the dlq": (("sink", 0, "iceberg", "dlq", "s3", "storage"), {}),
    "the ledger": (("ledger",), {"sqlite": {"path": "l.db"}}),
    "what a failure does": (("on_failure",), "stop"),
    "workers": (("workers",), 3),
    "a default in words": (("sink", 1, "iceberg", "schema_evolution"), False),
}


def digest(path: tuple[str | int, ...] = (), value: Any = None) -> str:
    document: Any = copy.deepcopy(PIPELINE)
    if path:
        inner = document
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
    return configuration_digest(PipelineBlock.model_validate(document))


@pytest.mark.parametrize("case", CHANGES)
def test_what_decides_about_rows_changes_it(case: str) -> None:
    assert digest(*CHANGES[case]) != digest()


@pytest.mark.parametrize("case", NO_CHANGES)
def test_pace_and_access_do_not(case: str) -> None:
    assert digest(*NO_CHANGES[case]) == digest()


def test_it_is_the_same_in_every_process_and_every_version() -> None:
    """Written into ledgers and tables: another one would hold up epochs for nothing."""
    assert digest() == "29511135b4986569"


def test_what_is_left_out_exists() -> None:
    blocks: list[tuple[Any, type[Strict]]] = [
        (LEFT_OUT["source"]["files"], FilesSource), (LEFT_OUT["dlq"]["iceberg"], IcebergDlq),
        (LEFT_OUT["sink"]["__all__"]["iceberg"], IcebergSink), (LEFT_OUT, PipelineBlock),
        (LEFT_OUT["dlq"]["file"], FileDlq), (LEFT_OUT["dlq"]["s3"], S3Dlq)]
    for names, model in blocks:
        assert set(names) <= set(model.model_fields)
