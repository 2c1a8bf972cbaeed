"""One pipeline's parts, made from its block."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from meltline.assembly.catalogs import Catalogs, resolve
from meltline.config.catalog import CatalogBlock
from meltline.config.dlq import DlqBlock
from meltline.config.pipeline import PipelineBlock
from meltline.config.sink_iceberg import IcebergSink as IcebergBlock
from meltline.config.source_files import FilesSource as FilesBlock
from meltline.engine.lane import LanePlan, SinkEnd
from meltline.engine.ledger import Ledger, ReadOnlyLedger
from meltline.engine.letters import LINE
from meltline.engine.pace import Pace
from meltline.engine.sink import Letters
from meltline.engine.sqlite_ledger import SqliteLedger
from meltline.errors import ConfigError
from meltline.sinks.file.letters import FileLetters
from meltline.sinks.iceberg.ledger import IcebergLedger
from meltline.sinks.iceberg.letters import IcebergLetters
from meltline.sinks.iceberg.sink import IcebergSink
from meltline.sources.files.settings import CsvSettings, FilesSettings
from meltline.sources.files.source import FilesSource


@dataclass(frozen=True)
class PipelineParts:
    name: str
    lanes: tuple[LanePlan, ...]
    pace: Pace

    def check(self) -> None:
        """Start-up checks of every sink and dead-letter target. Raises UserError."""
        for lane in self.lanes:
            for end in lane.sinks:
                end.sink.check()
            for letters in lane.letters:
                letters.check()


def assemble(
    name: str, block: PipelineBlock, catalogs: Catalogs, base: Path, parallelism: int
) -> PipelineParts:
    """Opens catalogs, creates nothing."""
    files = block.source.files
    if files is None:
        raise ConfigError(f'pipeline "{name}" has no source')
    _check_places(name, block, base)
    letters: dict[str, Letters] = {}
    ends = []
    for sink in block.sink:
        if sink.iceberg is not None:
            ends.append(_end(block, sink.iceberg, catalogs, base, letters))
    lane = LanePlan(
        pipeline=name, name="files",
        source=FilesSource(files_settings(files, base), with_line=_uses_lines(block)),
        sinks=tuple(ends), processors=block.processor, routes=tuple(block.routes.items()),
        letters=tuple(letters.values()), source_letters=_source_letters(block, ends, letters,
                                                                        catalogs, base),
        drop_undecodable=block.on_error == "drop", parallelism=parallelism)
    return PipelineParts(name, (lane,), Pace(files.polling_interval, _commit_interval(block)))


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


def files_settings(block: FilesBlock, base: Path) -> FilesSettings:
    codec = block.codec
    csv = CsvSettings()
    if codec.csv is not None:
        csv = CsvSettings(codec.csv.delimiter, codec.csv.quote_character, codec.csv.header,
                          codec.csv.detect_header)
    return FilesSettings(
        paths=tuple(_local(path, base) for path in block.paths), codec=codec.kind,  # type: ignore[arg-type]
        json_key=codec.json_.key_name if codec.json_ else None, csv=csv,
        compression=block.compression,
        settle_time=block.settle_time, max_files_per_epoch=block.max_files_per_epoch,
        max_bytes_per_epoch=block.max_bytes_per_epoch, ignore_suffixes=block.ignore_suffixes,
        missing_files=block.missing_files, storage=dict(block.storage),
        max_line_size=block.max_line_size)


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


def _end(
    block: PipelineBlock, sink: IcebergBlock, catalogs: Catalogs, base: Path,
    letters: dict[str, Letters],
) -> SinkEnd:
    dlq = block.dlq_of(sink)
    key = None if dlq is None else _letters(dlq, sink, catalogs, base, letters)
    return SinkEnd(IcebergSink(catalogs.find(sink.catalog), sink.label, sink), sink.routes, key,
                   block.on_error_of(sink) == "drop")


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
        made = FileLetters(_local(path, base), dict(storage))
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


def _uses_lines(block: PipelineBlock) -> bool:
    """Whether an expression asks for the metadata `line`, which costs a count of the lines."""
    texts = [*block.routes.values(), *(part.model_dump_json() for part in block.processor)]
    return any("getMetadata" in text and LINE in text for text in texts)


def _local(path: str, base: Path) -> str:
    return path if "://" in path else str(base / path)


def _commit_interval(block: PipelineBlock) -> timedelta:
    """The pipeline's epochs serve every sink: the most impatient one sets the pace."""
    return min((sink.iceberg.commit_interval for sink in block.sink if sink.iceberg),
               default=timedelta(minutes=5))


def _first_catalog(block: PipelineBlock) -> CatalogBlock | None:
    return next((sink.iceberg.catalog for sink in block.sink if sink.iceberg), None)


def _namespace(block: PipelineBlock) -> str:
    return block.ledger.iceberg.namespace if block.ledger.iceberg else "meltline"
