"""The sources of a pipeline: one per lane."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from meltline.assembly.catalogs import Catalogs
from meltline.assembly.copies import copy_finder
from meltline.config.pipeline import PipelineBlock
from meltline.config.source_files import FilesSource as FilesBlock
from meltline.config.source_iceberg import IcebergSource as IcebergBlock
from meltline.config.source_iceberg import IcebergTable
from meltline.engine.epoch import preparation
from meltline.engine.letters import LINE
from meltline.engine.pace import Pace
from meltline.engine.protocols import Source
from meltline.lake.table import Table
from meltline.model.history import MAIN
from meltline.model.table_like import Like, like_nothing
from meltline.sources.files.settings import CsvSettings, FilesSettings
from meltline.sources.files.source import FilesSource
from meltline.sources.iceberg.copy_table import FindCopy
from meltline.sources.iceberg.settings import TableSettings
from meltline.sources.iceberg.source import IcebergSource
from meltline.spark.jobs import SparkJobs


@dataclass(frozen=True)
class LaneSource:
    """One independent stream: its lane's name, where it comes from, and how it is paced.

    `like` says what a table for its rows looks like, where the source is a table itself.
    """

    lane: str
    source: Source
    pace: Pace
    like: Like = like_nothing


def find_sources(
    name: str, block: PipelineBlock, catalogs: Catalogs, base: Path, commit: timedelta,
    jobs: SparkJobs,
) -> Iterator[LaneSource]:
    """`commit` is how long the sinks want an epoch to last, where a source can choose. `jobs` are
    for sources that have to look at rows before they can say what is to be read."""
    if block.source.files is not None:
        files = block.source.files
        source = FilesSource(files_settings(files, base), with_line=_uses_lines(block))
        yield LaneSource("files", source, Pace(files.polling_interval, commit))
    if block.source.iceberg is not None:
        for table in block.source.iceberg.tables:
            find_copy = copy_finder(name, block, table.table_name, catalogs)
            yield _table_source(name, block.source.iceberg, table, catalogs, jobs, find_copy)


def _table_source(
    pipeline: str, block: IcebergBlock, table: IcebergTable, catalogs: Catalogs,
    jobs: SparkJobs, find_copy: FindCopy,
) -> LaneSource:
    catalog = table.catalog or block.catalog
    tag = f"meltline-{pipeline}-{table.table_name}" if table.protect_position else None
    settings = TableSettings(
        table.table_name, table.identifier_columns, not table.disable_export,
        table.branch or table.tag or MAIN, table.start_from, table.emit_update_before,
        table.on_lost_position, tag, block.load_bytes_per_epoch)

    def load() -> Table | None:
        return catalogs.find(catalog).load(table.table_name)

    # an epoch is a snapshot: how long it lasts is not ours to choose
    pace = Pace(table.polling_interval or block.polling_interval, timedelta(0))
    meet = partial(jobs.meet, description=preparation(pipeline, table.table_name), pool=pipeline)
    source = IcebergSource(load, settings, meet, find_copy)
    return LaneSource(table.table_name, source, pace, source.like)


def files_settings(block: FilesBlock, base: Path) -> FilesSettings:
    codec = block.codec
    csv = CsvSettings()
    if codec.csv is not None:
        csv = CsvSettings(codec.csv.delimiter, codec.csv.quote_character, codec.csv.header,
                          codec.csv.detect_header)
    return FilesSettings(
        paths=tuple(local(path, base) for path in block.paths), codec=codec.kind,  # type: ignore[arg-type]
        json_key=codec.json_.key_name if codec.json_ else None, csv=csv,
        compression=block.compression,
        settle_time=block.settle_time, max_files_per_epoch=block.max_files_per_epoch,
        max_bytes_per_epoch=block.max_bytes_per_epoch, ignore_suffixes=block.ignore_suffixes,
        missing_files=block.missing_files, storage=dict(block.storage),
        max_line_size=block.max_line_size)


def _uses_lines(block: PipelineBlock) -> bool:
    """Whether an expression asks for the metadata `line`, which costs a count of the lines."""
    texts = [*block.routes.values(), *(part.model_dump_json() for part in block.processor)]
    return any("getMetadata" in text and LINE in text for text in texts)


def local(path: str, base: Path) -> str:
    return path if "://" in path else str(base / path)
