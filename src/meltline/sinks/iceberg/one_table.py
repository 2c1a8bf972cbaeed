"""One table of a sink, as the driver sees it: creation, evolution, writers, publishing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from meltline.config.sink_iceberg import IcebergSink as IcebergBlock
from meltline.engine.epoch import Epoch
from meltline.engine.sink import Published
from meltline.engine.token import Token
from meltline.errors import RunError, UserError
from meltline.kernels.infer import additions, iceberg_schema
from meltline.lake.catalog import Catalog
from meltline.lake.schema import add_columns
from meltline.lake.spec import spec_count, unpartitioned_spec
from meltline.lake.table import Table
from meltline.model.target import TableTarget
from meltline.sinks.iceberg.changes import ChangeSettings
from meltline.sinks.iceberg.create import schema_json, spec_json
from meltline.sinks.iceberg.delete_plan import UNPARTITIONED, DeletePlan, plan_deletes
from meltline.sinks.iceberg.fields import KeyFilter
from meltline.sinks.iceberg.publish import Publisher, find_published, load_token
from meltline.sinks.iceberg.writer import IcebergWriter


class OneTable:
    """Loaded when it is first asked for, and refreshed before every decision."""

    def __init__(self, catalog: Catalog, identifier: str, block: IcebergBlock) -> None:
        self._catalog = catalog
        self._block = block
        self._table: Table | None = None
        self.identifier = identifier

    def check(self) -> None:
        """Raises UserError for what cannot work. A table that does not exist is fine."""
        table = self.load()
        if table is not None:
            self._deletes(table)

    def load(self) -> Table | None:
        if self._table is None:
            self._table = self._catalog.load(self.identifier)
        else:
            self._table.refresh()
        return self._table

    def token(self, pipeline: str, lane: str) -> Token | None:
        table = self.load()
        return None if table is None else load_token(table.properties, pipeline, lane)

    def find(self, epoch: Epoch) -> Published | None:
        table = self.load()
        found = None if table is None else find_published(table, epoch, self._block.branch)
        if found is None:
            return None
        return Published(self.identifier, found.snapshot_id, repeated=True)

    def writer(self, epoch: Epoch) -> IcebergWriter:
        """Without a table and without a schema to create it by, the writer only guesses one."""
        table = self.load()
        if table is None and self._block.table_schema is not None:
            table = self._create_as_told()
        batch_id = epoch.batch_id(self.identifier)
        keys = KeyFilter(self._block.include_keys, self._block.exclude_keys)
        if table is None:
            return IcebergWriter(None, batch_id, keys=keys)
        return IcebergWriter(self._target(table), batch_id, self._block.schema_evolution, keys,
                             changes=self._changes(table))

    def settle(self, guess: Any) -> bool:
        """Make the table, or columns, for events that have no place yet."""
        table = self.load()
        if table is None:
            self._create(iceberg_schema(guess), None)
            return True
        return add_columns(table, additions(table.target().schema, guess))

    def publish(self, epoch: Epoch, reports: Sequence[str], owner: str) -> Published:
        table = self.load()
        if table is None:
            raise RunError(f"table {self.identifier} is gone since the epoch was written")
        return Publisher(table, epoch, owner, self._block.branch).reports(reports)

    def _create_as_told(self) -> Table:
        schema = self._block.table_schema
        if schema is None:
            raise UserError(f"no schema to create table {self.identifier} by")
        return self._create(schema_json(schema, self._block.identifier_columns),
                            spec_json(schema))

    def _create(self, schema: str, spec: str | None) -> Table:
        self._table = self._catalog.create(
            self.identifier, schema, spec, dict(self._block.table_properties),
            self._block.table_location)
        return self._table

    def _target(self, table: Table) -> TableTarget:
        target = table.target()
        return replace(target, properties={**target.properties, **self._block.write_properties})

    def _deletes(self, table: Table) -> DeletePlan | None:
        if not self._block.keyed:
            return None
        return plan_deletes(table.target(), spec_count(table), self._block.identifier_columns,
                            self._block.delete_mode)

    def _changes(self, table: Table) -> ChangeSettings | None:
        plan = self._deletes(table)
        if plan is None:
            return None
        spec = UNPARTITIONED
        if plan.mode == "equality":
            spec = table.target().spec_json if plan.scoped else unpartitioned_spec(table)
        return ChangeSettings(self._block.operation, plan.identifiers,
                              self._block.deduplicate_inserts, spec)
