"""Dead letters as rows of an Iceberg table, published like any other table of the epoch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from meltline.engine.epoch import Epoch
from meltline.engine.sink import Published
from meltline.engine.token import Token
from meltline.engine.work import TaskPlace
from meltline.kernels.arrow_schema import arrow_schema
from meltline.kernels.write import TableWriter, WriteLimits
from meltline.lake.catalog import Catalog
from meltline.lake.table import Table
from meltline.model.target import TableTarget
from meltline.sinks.iceberg.publish import Publisher, find_published, load_token
from meltline.sinks.iceberg.reports import file_reports, path_prefix

_TYPES = {"epoch": "long", "ord": "long", "failed_at": "timestamptz"}
_COLUMNS = ("pipeline", "sink", "epoch", "ord", "reason", "event", "source", "failed_at")
SCHEMA = json.dumps({"type": "struct", "schema-id": 0, "fields": [
    {"id": i + 1, "name": name, "required": False, "type": _TYPES.get(name, "string")}
    for i, name in enumerate(_COLUMNS)]})


class IcebergLetters:
    """See engine.sink.Letters. The table is created at the first epoch."""

    def __init__(self, catalog: Catalog, identifier: str) -> None:
        self.key = f"{id(catalog)}:{identifier}"
        self._catalog = catalog
        self._identifier = identifier

    def check(self) -> None:
        self._catalog.load(self._identifier)

    def token(self, pipeline: str, lane: str) -> Token | None:
        table = self._catalog.load(self._identifier)
        return None if table is None else load_token(table.properties, pipeline, lane)

    def find(self, epoch: Epoch) -> bool:
        table = self._catalog.load(self._identifier)
        return table is not None and find_published(table, epoch) is not None

    def writer(self, epoch: Epoch) -> IcebergLetterWriter:
        table = self._table()
        return IcebergLetterWriter(table.target(), epoch.batch_id(self._identifier))

    def publish(self, epoch: Epoch, reports: Sequence[str], owner: str) -> Published:
        return Publisher(self._table(), epoch, owner).reports(reports)

    def _table(self) -> Table:
        return (self._catalog.load(self._identifier)
                or self._catalog.create(self._identifier, SCHEMA))


@dataclass(frozen=True)
class IcebergLetterWriter:
    target: TableTarget
    batch_id: str

    def open(self, place: TaskPlace) -> OpenIcebergLetters:
        return OpenIcebergLetters(self, place)


class OpenIcebergLetters:
    """Columns are matched by name: the table may have been made by hand, with more columns."""

    def __init__(self, settings: IcebergLetterWriter, place: TaskPlace) -> None:
        self._settings = settings
        self._place = place
        self._schema = arrow_schema(settings.target.schema)
        self._writer: TableWriter | None = None

    def add(self, letters: pa.Table) -> None:
        if self._writer is None:
            prefix = path_prefix(self._settings.target, self._place)
            self._writer = TableWriter(self._settings.target, prefix, WriteLimits())
        columns = [letters.column(f.name).cast(f.type) if f.name in letters.schema.names
                   else pa.nulls(letters.num_rows, f.type) for f in self._schema]
        self._writer.add(pa.Table.from_arrays(columns, schema=self._schema))

    def finish(self) -> Sequence[str]:
        if self._writer is None:
            return ()
        return file_reports(self._settings.target, self._place, self._settings.batch_id,
                            self._writer.finish())
