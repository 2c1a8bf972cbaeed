"""One pipeline's parts, made from its block."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from meltline.assembly.catalogs import Catalogs, resolve
from meltline.assembly.sources import LaneSource, find_sources, local
from meltline.config.catalog import CatalogBlock
from meltline.config.digest import configuration_digest
from meltline.config.dlq import DlqBlock
from meltline.config.pipeline import PipelineBlock
from meltline.config.sink_iceberg import IcebergSink as IcebergBlock
from meltline.config.table_block import TableBlock
from meltline.engine.lane import LanePlan, SinkEnd
from meltline.engine.ledger import Ledger, ReadOnlyLedger
from meltline.engine.pace import Pace
from meltline.engine.protocols import Checked, MapItems
from meltline.engine.sink import Letters
from meltline.engine.sqlite_ledger import SqliteLedger
from meltline.engine.work import Match
from meltline.errors import ConfigError
from meltline.model.table_like import Like, processed
from meltline.sinks.file.letters import FileLetters
from meltline.sinks.file.sink import FileSink
from meltline.sinks.iceberg.ledger import IcebergLedger
from meltline.sinks.iceberg.letters import IcebergLetters
from meltline.sinks.iceberg.many_tables import ManyTables
from meltline.sinks.iceberg.sink import IcebergSink
from meltline.spark.jobs import SparkJobs


@dataclass(frozen=True)
class PipelineParts:
    """`paces` has one entry per lane."""

    name: str
    lanes: tuple[LanePlan, ...]
    paces: tuple[Pace, ...]

    def check(self) -> None:
        """Start-up checks of every source, sink and dead-letter target. Raises UserError."""
        for lane in self.lanes:
            if isinstance(lane.source, Checked):
                lane.source.check()
            for end in lane.sinks:
                end.sink.check()
            for letters in lane.letters:
                letters.check()


def assemble(
    name: str, block: PipelineBlock, catalogs: Catalogs, base: Path, parallelism: int,
    jobs: SparkJobs,
) -> PipelineParts:
    """Opens catalogs, creates nothing. Lanes share nothing but Spark and the catalogs."""
    _check_places(name, block, base)
    lanes, paces = [], []
    for found in find_sources(name, block, catalogs, base, _commit_interval(block), jobs):
        lanes.append(_lane(name, block, found, catalogs, base, parallelism, jobs.map))
        paces.append(found.pace)
    return PipelineParts(name, tuple(lanes), tuple(paces))


def _lane(
    name: str, block: PipelineBlock, found: LaneSource, catalogs: Catalogs, base: Path,
    parallelism: int, map_items: MapItems,
) -> LanePlan:
    letters: dict[str, Letters] = {}
    ends = []
    for sink in block.sink:
        if sink.iceberg is not None:
            like = processed(found.like) if block.processor else found.like
            ends += _ends(block, sink.iceberg, catalogs, base, letters, map_items, like)
        elif sink.file is not None:
            made = FileSink(local(sink.file.path, base), dict(sink.file.storage))
            ends.append(SinkEnd(made, sink.file.routes))
    source_letters = _source_letters(block, ends, letters, catalogs, base)
    return LanePlan(
        pipeline=name, name=found.lane, source=found.source, sinks=tuple(ends),
        processors=block.processor, routes=tuple(block.routes.items()),
        letters=tuple(letters.values()), source_letters=source_letters,
        drop_undecodable=block.on_error == "drop", parallelism=parallelism,
        config=configuration_digest(block))


def open_ledger(name: str, block: PipelineBlock, catalogs: Catalogs, base: Path) -> Ledger:
    if block.ledger.sqlite is not None:
        return SqliteLedger(base / block.ledger.sqlite.path, name)
    return IcebergLedger.open(catalogs.find(_first_catalog(block)), _namespace(block), name)


def find_ledger(
    name: str, block: PipelineBlock, catalogs: Catalogs, base: Path
) -> ReadOnlyLedger | None:
    """For readers: None when the pipeline has not run yet."""
    if block.ledger.sqlite is not None:
        path = base / block.ledger.sqlite.path
        return SqliteLedger(path, name) if path.exists() else None
    return IcebergLedger.find(catalogs.find(_first_catalog(block)), _namespace(block), name)


def _check_places(name: str, block: PipelineBlock, base: Path) -> None:
    """A table is told by its epochs what it holds: only one thing may be written to it."""
    taken: dict[tuple[str, ...], str] = {}
    letters: set[tuple[str, ...]] = set()
    for sink in block.sink:
        if sink.iceberg is None:
            continue
        for table in sink.iceberg.names:
            place = _place(sink.iceberg.catalog, table, base)
            if place in taken:
                raise ConfigError(f"two sinks of pipeline {name!r} write to table {taken[place]}",
                                  hint="give one sink both routes, or write to two tables")
            taken[place] = table
        dlq = block.dlq_of(sink.iceberg)
        if dlq is not None and dlq.iceberg is not None:
            own = dlq.iceberg.catalog or sink.iceberg.catalog
            letters.add(_place(own, dlq.iceberg.table_identifier, base))
    for place in letters & set(taken):
        raise ConfigError(f"table {taken[place]} of pipeline {name!r} is a sink and a dlq",
                          hint="name another table for the dlq")


def _place(catalog: CatalogBlock | None, table: str, base: Path) -> tuple[str, ...]:
    """Where a table is. Some catalogs ignore case, so this does too."""
    chosen = resolve(catalog, base)
    return (chosen.type or "", chosen.uri or "", chosen.warehouse or "", table.lower())


def _ends(
    block: PipelineBlock, sink: IcebergBlock, catalogs: Catalogs, base: Path,
    letters: dict[str, Letters], map_items: MapItems, like: Like,
) -> list[SinkEnd]:
    """One for each table of a list, else one."""
    dlq = block.dlq_of(sink)
    key = None if dlq is None else _letters(dlq, sink, catalogs, base, letters)
    catalog, drop = catalogs.find(sink.catalog), block.on_error_of(sink) == "drop"
    if sink.dynamic:
        many = ManyTables(catalog, sink, map_items, _reserved(block, sink, base), like)
        return [SinkEnd(many, sink.routes, key, drop)]
    if not sink.tables:
        one = IcebergSink(catalog, sink.label, sink, map_items, like)
        return [SinkEnd(one, sink.routes, key, drop)]
    return [SinkEnd(
        IcebergSink(catalog, table.table_identifier, sink.for_table(table), map_items, like),
        sink.routes, key, drop, _match(sink, table)) for table in sink.tables]


def _match(sink: IcebergBlock, table: TableBlock) -> Match | None:
    """Without a field to look at, every table of the list takes every event."""
    if sink.route_field is None or table.route_regex is None:
        return None
    return Match(sink.route_field, table.route_regex)


def _reserved(block: PipelineBlock, sink: IcebergBlock, base: Path) -> set[str]:
    """The tables of the sink's catalog that this pipeline writes to by other ways."""
    own = _place(sink.catalog, "", base)
    found = set()
    for other in (each.iceberg for each in block.sink if each.iceberg):
        dlq = block.dlq_of(other)
        if _place(other.catalog, "", base) == own:
            found |= set(other.names)
        if dlq and dlq.iceberg and _place(dlq.iceberg.catalog or other.catalog, "", base) == own:
            found.add(dlq.iceberg.table_identifier)
    return found


def _letters(
    dlq: DlqBlock, sink: IcebergBlock | None, catalogs: Catalogs, base: Path,
    known: dict[str, Letters],
) -> str:
    made: Letters
    if dlq.iceberg is not None:
        own = dlq.iceberg.catalog or (sink.catalog if sink else None)
        made = IcebergLetters(catalogs.find(own), dlq.iceberg.table_identifier)
    elif dlq.s3 is not None:
        region = {"s3.region": dlq.s3.region} if dlq.s3.region else {}
        location = f"s3://{dlq.s3.bucket}/{dlq.s3.key_path_prefix}".rstrip("/")
        made = FileLetters(location, {**region, **dlq.s3.storage})
    else:
        path, storage = (dlq.file.path, dlq.file.storage) if dlq.file else (".", {})
        made = FileLetters(local(path, base), dict(storage))
    known.setdefault(made.key, made)
    return made.key


def _source_letters(
    block: PipelineBlock, ends: list[SinkEnd], letters: dict[str, Letters], catalogs: Catalogs,
    base: Path,
) -> str | None:
    """Events nobody can decode go to the pipeline's dlq, else to the first one a sink names."""
    if block.dlq is not None:
        first = block.sink[0].iceberg
        return _letters(block.dlq, first, catalogs, base, letters)
    return next((end.letters for end in ends if end.letters), None)


def _commit_interval(block: PipelineBlock) -> timedelta:
    """The pipeline's epochs serve every sink: the most impatient one sets the pace."""
    return min((sink.iceberg.commit_interval for sink in block.sink if sink.iceberg),
               default=timedelta(minutes=5))


def _first_catalog(block: PipelineBlock) -> CatalogBlock | None:
    return next((sink.iceberg.catalog for sink in block.sink if sink.iceberg), None)


def _namespace(block: PipelineBlock) -> str:
    return block.ledger.iceberg.namespace if block.ledger.iceberg else "meltline"
