from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import timedelta

import pytest
from pydantic import ValidationError

from meltline.config.file import PipelineFile
from meltline.config.iceberg_type import DecimalType, PrimitiveType
from meltline.config.partition import Transform
from meltline.errors import ConfigError
from tests.first_pipeline import ORDERS_IN

Load = Callable[[str], PipelineFile]

SMALL = """\
p:
  source: {files: {paths: [a]}}
  sink: [{iceberg: {table_identifier: shop.orders}}]
"""


def test_the_first_pipeline_loads_as_written(load: Load) -> None:
    pipeline = load(ORDERS_IN).pipelines["orders-in"]
    files = pipeline.source.files
    assert files is not None
    assert files.paths == ("inbox/*.ndjson",)
    assert files.codec.kind == "ndjson"
    assert files.polling_interval == timedelta(seconds=2)
    assert dict(pipeline.routes) == {"paid": '/status == "PAID"'}
    orders, paid = (sink.iceberg for sink in pipeline.sink)
    assert orders is not None
    assert paid is not None
    assert orders.table_schema is not None
    columns = orders.table_schema.columns
    assert [column.name for column in columns] == ["id", "at", "amount", "status"]
    assert [column.required for column in columns] == [True, False, False, False]
    assert columns[2].iceberg_type == DecimalType(12, 2)
    assert columns[3].iceberg_type == PrimitiveType("string")
    assert orders.table_schema.partition_spec[0].parsed == Transform("day")
    assert orders.commit_interval == timedelta(seconds=10)
    assert orders.dlq is not None
    assert orders.dlq.iceberg is not None
    assert orders.dlq.iceberg.table_identifier == "shop.dead_letters"
    assert paid.routes == ("paid",)


def test_the_first_pipeline_gives_no_warning(load: Load) -> None:
    assert load(ORDERS_IN).warnings == ()


def test_defaults(load: Load) -> None:
    file = load(SMALL)
    pipeline = file.pipelines["p"]
    files, sink = pipeline.source.files, pipeline.sink[0].iceberg
    assert files is not None
    assert sink is not None
    assert (files.codec.kind, files.compression, files.missing_files) == (
        "ndjson",
        "automatic",
        "stop",
    )
    assert (files.polling_interval, files.settle_time) == (
        timedelta(seconds=30),
        timedelta(seconds=1),
    )
    assert (files.max_files_per_epoch, files.max_bytes_per_epoch) == (1000, 10 * 1024**3)
    assert (dict(files.storage), files.max_line_size) == ({}, 64 * 1024**2)
    assert sink.commit_interval == timedelta(minutes=5)
    assert (sink.catalog, sink.dlq, sink.on_error, sink.auto_create) == (None, None, "fail", False)
    assert pipeline.ledger.iceberg is not None
    assert pipeline.ledger.iceberg.namespace == "meltline"
    assert (pipeline.processor, dict(pipeline.routes)) == ((), {})
    assert (file.spark.master, file.spark.driver_memory) == ("local[*]", None)


@pytest.mark.parametrize(
    ("codec", "kind"),
    [
        ("ndjson", "ndjson"),
        ("{ndjson: {}}", "ndjson"),
        ("{ndjson: }", "ndjson"),
        ("json", "json"),
        ("{json: {key_name: records}}", "json"),
        ("csv", "csv"),
        ('{csv: {delimiter: ";", quote_character: "\'"}}', "csv"),
        ("{csv: {header: [a, b], detect_header: false}}", "csv"),
        ("parquet", "parquet"),
    ],
)
def test_codecs(codec: str, kind: str, load: Load) -> None:
    pipeline = load(SMALL.replace("paths: [a]", f"paths: [a], codec: {codec}")).pipelines["p"]
    assert pipeline.source.files is not None
    assert pipeline.source.files.codec.kind == kind


def test_several_pipelines_version_and_spark(load: Load) -> None:
    file = load(
        'version: "2"\n'
        "spark: {master: 'spark://h:7077', driver_memory: 2gb, config: {spark.ui.enabled: false}}\n"
        + SMALL
        + SMALL.replace("p:", "q:", 1)
    )
    assert list(file.pipelines) == ["p", "q"]
    assert file.spark.master == "spark://h:7077"
    assert file.spark.driver_memory == 2 * 1024**3
    assert dict(file.spark.config) == {"spark.ui.enabled": "false"}


def test_select(load: Load) -> None:
    file = load(SMALL + SMALL.replace("p:", "quotes:", 1))
    assert list(file.select()) == ["p", "quotes"]
    assert list(file.select("quotes")) == ["quotes"]
    with pytest.raises(ConfigError) as raised:
        file.select("quote")
    assert str(raised.value) == (
        'there is no pipeline "quote"\n'
        "   at: p.yaml\n"
        ' hint: did you mean "quotes"? valid pipelines: p, quotes'
    )


def test_anchors_and_merge_keys(load: Load) -> None:
    pipeline = load(
        "p:\n"
        "  source: {files: {paths: [a]}}\n"
        "  sink:\n"
        "    - iceberg: &sink {table_identifier: shop.a, auto_create: true, on_error: drop}\n"
        "    - iceberg:\n"
        "        <<: *sink\n"
        "        table_identifier: shop.b\n"
    ).pipelines["p"]
    second = pipeline.sink[1].iceberg
    assert second is not None
    assert (second.table_identifier, second.auto_create, second.on_error) == (
        "shop.b",
        True,
        "drop",
    )


def test_both_spellings_of_routes(load: Load) -> None:
    one = load(ORDERS_IN).pipelines["orders-in"]
    other = load(ORDERS_IN.replace("route:", "routes:")).pipelines["orders-in"]
    assert one == other


def test_the_default_route_needs_no_declaration(load: Load) -> None:
    load(SMALL.replace("shop.orders", "shop.orders, routes: [_default]"))


def test_a_sink_falls_back_on_its_pipeline(load: Load) -> None:
    pipeline = load(
        "p:\n"
        "  source: {files: {paths: [a]}}\n"
        "  dlq: {file: {path: dead}}\n"
        "  on_error: drop\n"
        "  sink:\n"
        "    - iceberg: {table_identifier: shop.a}\n"
        "    - iceberg: {table_identifier: shop.b, on_error: fail, dlq: {s3: {bucket: b}}}\n"
    ).pipelines["p"]
    first, second = (block.iceberg for block in pipeline.sink)
    assert first is not None
    assert second is not None
    assert pipeline.dlq_of(first) is pipeline.dlq
    assert pipeline.dlq_of(second) is second.dlq
    assert (pipeline.on_error_of(first), pipeline.on_error_of(second)) == ("drop", "fail")


def test_settings_without_effect_are_warnings(load: Load) -> None:
    file = load(
        "p:\n"
        "  workers: 4\n"
        "  delay: 3000\n"
        "  buffer: {bounded_blocking: {batch_size: 200}}\n"
        "  source:\n"
        "    files:\n"
        "      paths: [a]\n"
        "      codec: {csv: {header: [a]}}\n"
        "  routes: [{old: '/a == 1'}]\n"
        "  sink:\n"
        "    - iceberg:\n"
        "        table_identifier: shop.orders\n"
        "        flush_interval: PT1M\n"
        "        ack_poll_interval: 1s\n"
        "        table_location: s3://b/t\n"
        "        on_error: drop\n"
        "        dlq: {file: {path: dead}}\n"
    )
    assert file.warnings == (
        "p.yaml:2 p.workers: has no effect: Spark decides how many tasks run at a time",
        "p.yaml:3 p.delay: has no effect: commit_interval of the sink paces the pipeline",
        "p.yaml:4 p.buffer: has no effect: there is no buffer between source and sink",
        "p.yaml:8 p.source.files.codec.csv.header: has no effect: "
        "detect_header is true, so each file's first line names the columns",
        'p.yaml:9 p.routes: no sink takes the route "old"',
        "p.yaml:13 p.sink[0].iceberg.flush_interval: has no effect: "
        "files are written once per epoch",
        "p.yaml:14 p.sink[0].iceberg.ack_poll_interval: has no effect: "
        "the source moves on when the epoch is published",
        "p.yaml:15 p.sink[0].iceberg.table_location: has no effect: "
        "auto_create is not true, so no table is created",
        "p.yaml:16 p.sink[0].iceberg.on_error: has no effect: rejected events go to the dlq",
    )


def test_blocks_cannot_be_changed_and_can_be_pickled(load: Load) -> None:
    pipeline = load(ORDERS_IN).pipelines["orders-in"]
    with pytest.raises(ValidationError):
        pipeline.on_error = "drop"
    assert pickle.loads(pickle.dumps(pipeline)) == pipeline
