"""What is allowed in a pipeline but is likely not what its author thinks."""

from __future__ import annotations

from collections.abc import Iterator

from meltline.config.document import Document
from meltline.config.pipeline import PipelineBlock
from meltline.config.place import DocPath
from meltline.config.sink_iceberg import IcebergSink

_NO_EFFECT = {
    "workers": "Spark decides how many tasks run at a time",
    "delay": "commit_interval of the sink paces the pipeline",
    "buffer": "there is no buffer between source and sink",
}
_NO_EFFECT_IN_SINK = {
    "flush_interval": "files are written once per epoch",
    "ack_poll_interval": "the source moves on when the epoch is published",
}
_ONLY_FOR_NEW_TABLES = ("table_properties", "table_location")


def notices(document: Document, name: str, pipeline: PipelineBlock) -> list[str]:
    """One line each: place, and what has no effect."""
    found = [*_of_pipeline(pipeline), *_of_source(pipeline), *_of_routes(pipeline)]
    for index, sink in enumerate(pipeline.sink):
        if sink.iceberg is not None:
            place: DocPath = ("sink", index, "iceberg")
            found += [((*place, key), text) for key, text in _of_sink(pipeline, sink.iceberg)]
    return [f"{document.at((name, *path))}: {text}" for path, text in found]


def _of_pipeline(pipeline: PipelineBlock) -> Iterator[tuple[DocPath, str]]:
    for key, reason in _NO_EFFECT.items():
        if key in pipeline.model_fields_set:
            yield (key,), f"has no effect: {reason}"


def _of_source(pipeline: PipelineBlock) -> Iterator[tuple[DocPath, str]]:
    files = pipeline.source.files
    if files and files.codec.csv and files.codec.csv.header and files.codec.csv.detect_header:
        text = "has no effect: detect_header is true, so each file's first line names the columns"
        yield ("source", "files", "codec", "csv", "header"), text


def _of_routes(pipeline: PipelineBlock) -> Iterator[tuple[DocPath, str]]:
    used = {name for sink in pipeline.sink if sink.iceberg for name in sink.iceberg.routes}
    for name in pipeline.routes:
        if name not in used:
            yield ("routes",), f'no sink takes the route "{name}"'


def _of_sink(pipeline: PipelineBlock, sink: IcebergSink) -> Iterator[tuple[str, str]]:
    for key, reason in _NO_EFFECT_IN_SINK.items():
        if key in sink.model_fields_set:
            yield key, f"has no effect: {reason}"
    for key in _ONLY_FOR_NEW_TABLES:
        if key in sink.model_fields_set and not sink.auto_create:
            yield key, "has no effect: auto_create is not true, so no table is created"
    if "on_error" in sink.model_fields_set and pipeline.dlq_of(sink):
        yield "on_error", "has no effect: rejected events go to the dlq"
