"""The Iceberg sink in the driver: checks, creation, evolution, publishing of one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from meltline.config.sink_iceberg import IcebergSink as IcebergBlock
from meltline.engine.epoch import Epoch
from meltline.engine.sink import Published
from meltline.engine.token import Token
from meltline.errors import RunError, UserError
from meltline.kernels.infer import additions, iceberg_schema
from meltline.lake.catalog import Catalog
from meltline.lake.schema import add_columns
from meltline.lake.table import Table
from meltline.model.target import TableTarget
from meltline.sinks.iceberg.create import schema_json, spec_json
from meltline.sinks.iceberg.publish import find_published, load_token, publish_reports
from meltline.sinks.iceberg.writer import IcebergWriter, KeyFilter


class IcebergSink:
    """See engine.sink.Sink. Only appends."""

    def __init__(self, catalog: Catalog, block: IcebergBlock) -> None:
        self._catalog = catalog
        self._block = block
        self._table: Table | None = None
        self.name = block.table_identifier
        self._keys = KeyFilter(block.include_keys, block.exclude_keys)

    def check(self) -> None:
        table = self._load()
        if table is None and not self._block.auto_create:
            raise UserError(
                f"table {self.name} does not exist in the catalog",
                hint="create the table, or set auto_create: true in the sink")

    def token(self, pipeline: str, lane: str) -> Token | None:
        table = self._load()
        return None if table is None else load_token(table.properties, pipeline, lane)

    def find(self, epoch: Epoch) -> Published | None:
        table = self._load()
        found = None if table is None else find_published(table, epoch)
        return None if found is None else Published(self.name, found.snapshot_id, repeated=True)

    def writer(self, epoch: Epoch) -> IcebergWriter:
        """Without a table and without a schema to create it by, the writer only guesses one."""
        table = self._load()
        if table is None and self._block.table_schema is not None:
            schema = self._block.table_schema
            table = self._create(schema_json(schema), spec_json(schema))
        batch_id = epoch.batch_id(self.name)
        if table is None:
            return IcebergWriter(None, batch_id, keys=self._keys)
        return IcebergWriter(self._target(table), batch_id, self._block.schema_evolution,
                             self._keys)

    def settle(self, guess: Any) -> bool:
        table = self._load()
        if table is None:
            self._create(iceberg_schema(guess), None)
            return True
        return add_columns(table, additions(table.target().schema, guess))

    def publish(self, epoch: Epoch, reports: Sequence[str], owner: str) -> Published:
        table = self._load()
        if table is None:
            raise RunError(f"table {self.name} is gone since the epoch was written")
        return publish_reports(table, epoch, reports, owner)

    def _load(self) -> Table | None:
        if self._table is None:
            self._table = self._catalog.load(self.name)
        else:
            self._table.refresh()
        return self._table

    def _create(self, schema: str, spec: str | None) -> Table:
        self._table = self._catalog.create(
            self.name, schema, spec, dict(self._block.table_properties),
            self._block.table_location)
        return self._table

    def _target(self, table: Table) -> TableTarget:
        target = table.target()
        return TableTarget(**{**target.__dict__, "properties": {
            **target.properties, **self._block.write_properties}})
