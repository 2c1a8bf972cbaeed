"""One table of a sink, as the driver sees it: creation, evolution, writers, publishing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from meltline.config.sink_iceberg import IcebergSink as IcebergBlock
from meltline.engine.epoch import Epoch
from meltline.engine.protocols import MapItems
from meltline.engine.sink import Published
from meltline.engine.token import Token
from meltline.errors import Retryable, RunError, UserError
from meltline.kernels.infer import additions, iceberg_schema
from meltline.kernels.widen import widenings
from meltline.kernels.write_settings import check_properties
from meltline.lake.catalog import Catalog
from meltline.lake.schema import add_columns, widen_columns
from meltline.lake.spec import spec_count, spec_ids, unpartitioned_spec
from meltline.lake.table import Table
from meltline.model.table_like import Like, TableLike, like_nothing
from meltline.model.target import TableTarget
from meltline.sinks.iceberg.changes import ChangeSettings
from meltline.sinks.iceberg.create import schema_json, spec_json
from meltline.sinks.iceberg.delete_plan import UNPARTITIONED, DeletePlan, plan_deletes
from meltline.sinks.iceberg.fields import KeyFilter
from meltline.sinks.iceberg.following import follow_source
from meltline.sinks.iceberg.identity import choose_identifiers, name_now
from meltline.sinks.iceberg.lookup_publish import publish_looked_up
from meltline.sinks.iceberg.publish import Publisher, find_published, load_token
from meltline.sinks.iceberg.source_fields import SourceFields
from meltline.sinks.iceberg.still_valid import Written, check_still_valid, written_for
from meltline.sinks.iceberg.summary import SOURCE_FIELDS, token_key
from meltline.sinks.iceberg.variant_columns import refuse_variants
from meltline.sinks.iceberg.writer import IcebergWriter


class OneTable:
    """Loaded when it is first asked for, and refreshed before every decision."""

    def __init__(
        self, catalog: Catalog, identifier: str, block: IcebergBlock, map_items: MapItems,
        like: Like = like_nothing,
    ) -> None:
        """`like` is the source's table, as far as the source has one."""
        self._catalog = catalog
        self._like = like
        self._map_items = map_items
        self._block = block
        self._keys = KeyFilter(block.include_keys, block.exclude_keys, block.case_insensitive)
        self._table: Table | None = None
        self._made: IcebergWriter | None = None
        self._written: Written | None = None
        self._followed: TableLike | None = None
        self.identifier = identifier

    def check(self) -> None:
        """Raises UserError for what cannot work. A table that does not exist is fine."""
        table = self.load()
        if table is None:
            check_properties(self.identifier, {**self._block.table_properties,
                                               **self._block.write_properties})
            return
        target = self._target(table)
        if self._like is like_nothing:
            refuse_variants(target)
        if self._block.identifier_columns or self._like is like_nothing:
            # else the source says which, when the first epoch is planned
            self._deletes(table)

    def load(self) -> Table | None:
        if self._table is None:
            self._table = self._catalog.load(self.identifier)
            return self._table
        try:
            self._table.refresh()
        except Retryable:
            # dropped, or another table of the same name: what was known of it is no use
            self._followed = None
            self._table = self._catalog.load(self.identifier)
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

    def writer(self, epoch: Epoch, fresh: bool = True) -> IcebergWriter:
        """Without a table and without a schema to create it by, the writer only guesses one.

        Not `fresh`: as the table was when it was last looked at, without asking the catalog."""
        if not fresh and self._made is not None and self._like() == self._followed:
            return replace(self._made, batch_id=epoch.batch_id(self.identifier))
        self._made = self._make_writer(epoch)
        return self._made

    def _make_writer(self, epoch: Epoch) -> IcebergWriter:
        table = self.load()
        if table is None and self._block.table_schema is not None:
            table = self._create_as_told()
        batch_id = epoch.batch_id(self.identifier)
        if table is None:
            return IcebergWriter(None, batch_id, keys=self._keys)
        self._follow(table, token_key(epoch.pipeline, epoch.lane))
        plan = self._deletes(table)
        changes = None if plan is None else self._changes(table, plan)
        target = self._target(table)
        self._written = written_for(target, spec_ids(table), plan,
                                    None if changes is None else changes.key_spec)
        return IcebergWriter(target, batch_id, self._block.schema_evolution, self._keys,
                             changes=changes)

    def _follow(self, table: Table, own_token: str) -> None:
        like, whole = self._like(), self._whole()
        if whole is not None and like != self._followed and self._block.schema_evolution:
            follow_source(table, whole, own_token)
        self._followed = like

    def _whole(self) -> TableLike | None:
        """The source's table, if its rows arrive as they are there."""
        like = self._like()
        filtered = self._block.include_keys or self._block.exclude_keys
        return None if like is None or filtered or not like.as_is else like

    def settle(self, guess: Any) -> bool:
        """Make the table, or columns, for events that have no place yet."""
        table = self.load()
        self._made = None
        if table is None:
            like = self._whole()
            if like is not None:
                self._create(like.schema_json, like.spec_json, like.format_version,
                             SourceFields.of(like).properties())
            else:
                self._create(iceberg_schema(self._keys.of_table(guess)), None)
            return True
        if not self._block.schema_evolution:
            # somebody else made the table while this one looked for what to make
            return False
        schema = table.target().schema
        added = add_columns(table, additions(schema, self._keys.of_table(guess, schema)),
                            self._block.case_insensitive)
        widened = widen_columns(
            table, lambda now: widenings(now.schema, self._keys.of_table(guess, now.schema)))
        return added or widened

    def publish(self, epoch: Epoch, reports: Sequence[str], owner: str) -> Published:
        table = self.load()
        self._made = None
        if table is None:
            raise RunError(f"table {self.identifier} is gone since the epoch was written")
        written = self._written
        if written is None:
            raise RunError(f"nothing was written for table {self.identifier}")
        publisher = Publisher(table, epoch, owner, self._block.branch,
                              partial(_check_still_valid, table, written))
        plan = written.plan
        if plan is None or plan.mode == "equality":
            return publisher.reports(reports)
        publisher.check()
        schema = written.target.schema
        ids = [schema.find_field(name).field_id for name in plan.identifiers]
        return publish_looked_up(publisher, reports, ids, plan.mode, self._map_items,
                                 self._block.write_properties)

    def _create_as_told(self) -> Table:
        schema = self._block.table_schema
        if schema is None:
            raise UserError(f"no schema to create table {self.identifier} by")
        columns = [column.name for column in schema.columns]
        identifiers = choose_identifiers(
            self._block.identifier_columns, (), columns, self._keys.any_case)
        return self._create(schema_json(schema, identifiers), spec_json(schema))

    def _create(
        self, schema: str, spec: str | None, version: int = 2,
        memory: Mapping[str, str] | None = None,
    ) -> Table:
        properties = {**self._block.table_properties, **(memory or {})}
        if version > 2:
            properties.setdefault("format-version", str(version))
        self._table = self._catalog.create(
            self.identifier, schema, spec, properties, self._block.table_location)
        return self._table

    def _target(self, table: Table) -> TableTarget:
        target = table.target()
        properties = {**target.properties, **self._block.write_properties}
        check_properties(self.identifier, properties)
        return replace(target, properties=properties)

    def _deletes(self, table: Table) -> DeletePlan | None:
        if not self._block.keyed:
            return None
        target = table.target()
        return plan_deletes(target, spec_count(table), self._identifiers(table, target),
                            self._block.delete_mode)

    def _identifiers(self, table: Table, target: TableTarget) -> Sequence[str]:
        def renamed(name: str) -> str:
            # who else renames a column of a table says so in the pipeline
            is_copy = SOURCE_FIELDS in target.properties
            return name_now(name, target.schema, table.schemas()) if is_copy else name

        like = self._like()
        return choose_identifiers(
            self._block.identifier_columns, () if like is None else like.identifiers,
            [field.name for field in target.schema.fields], self._keys.any_case, renamed)

    def _changes(self, table: Table, plan: DeletePlan) -> ChangeSettings:
        spec = UNPARTITIONED
        if plan.mode == "equality":
            spec = table.target().spec_json if plan.scoped else unpartitioned_spec(table)
        return ChangeSettings(self._block.operation, plan.identifiers,
                              self._block.deduplicate_inserts, spec)


def _check_still_valid(table: Table, written: Written) -> None:
    """Mostly nothing has changed: three ids say so."""
    ids, target = spec_ids(table), written.target
    if (table.uuid, table.schema_id, ids) != (target.uuid, target.schema.schema_id,
                                              written.spec_ids):
        check_still_valid(written, table.target(), ids)
