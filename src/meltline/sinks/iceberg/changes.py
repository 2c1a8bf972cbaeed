"""Changes of one table, collapsed and written: the new rows, and the keys whose rows must go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyiceberg.schema import Schema

from meltline.engine.report import SinkReport
from meltline.engine.work import TaskPlace
from meltline.kernels.arrow_schema import arrow_schema
from meltline.kernels.collapse import OP, collapse
from meltline.kernels.connection import connect
from meltline.kernels.parquet import equality_deletes
from meltline.kernels.scatter import unpack
from meltline.kernels.write import TableWriter, WriteLimits
from meltline.model.file_closed import EQUALITY_DELETES
from meltline.model.target import TableTarget
from meltline.sinks.iceberg.reports import file_reports, path_prefix


@dataclass(frozen=True)
class ChangeSettings:
    """How events change rows. `operation` is a format string; None makes each event an insert.

    `key_spec` is the partition spec (Iceberg's JSON) under which the keys to delete are written.
    """

    operation: str | None
    identifiers: tuple[str, ...]
    deduplicate_inserts: bool
    key_spec: str


@dataclass(frozen=True)
class ChangeWriter:
    """One table's changes in one task."""

    settings: ChangeSettings
    target: TableTarget
    place: TaskPlace
    batch_id: str
    limits: WriteLimits

    def write(self, changes: Sequence[pa.Table]) -> SinkReport:
        """`changes` together are in the order of the source; see kernels.collapse."""
        if not changes:
            return SinkReport()
        with connect() as connection:
            done = collapse(connection, pa.concat_tables(changes), self.settings.identifiers,
                            self.settings.deduplicate_inserts)
        files: tuple[str, ...] = ()
        if done.rows.num_rows:
            files += self._rows(done.rows)
        if done.keys.num_rows:
            files += self._keys(done.keys)
        return SinkReport(done.rows.num_rows, files=files, deleted=done.keys.num_rows)

    def gather(self, parts: Iterable[bytes]) -> SinkReport:
        """Write what the tasks of the epoch packed for this one, in the order they read it."""
        unpacked = [unpack(part) for part in parts]
        unpacked.sort(key=lambda one: (int(one[1]["shard"]), int(one[1]["number"])))
        return self.write([rows.replace_schema_metadata(None) for rows, _ in unpacked])

    def _rows(self, rows: pa.Table) -> tuple[str, ...]:
        writer = TableWriter(self.target, path_prefix(self.target, self.place), self.limits)
        schema = arrow_schema(self.target.schema)
        writer.add(pa.Table.from_arrays(rows.columns, schema=schema))
        return file_reports(self.target, self.place, self.batch_id, writer.finish())

    def _keys(self, keys: pa.Table) -> tuple[str, ...]:
        schema = key_schema(self.target.schema, self.settings.identifiers)
        target = replace(self.target, schema_json=schema.model_dump_json(),
                         spec_json=self.settings.key_spec)
        ids = [field.field_id for field in schema.fields]
        writer = TableWriter(target, path_prefix(target, self.place) + "-deletes", self.limits,
                             equality_deletes(ids))
        arrow = arrow_schema(schema)
        writer.add(pa.Table.from_arrays([keys.column(name) for name in arrow.names], schema=arrow))
        return file_reports(target, self.place, self.batch_id, writer.finish(), EQUALITY_DELETES)


def key_schema(schema: Schema, identifiers: Sequence[str]) -> Schema:
    """The identifier columns alone, in the table's order."""
    fields = [field for field in schema.fields if field.name in identifiers]
    return Schema(*fields, schema_id=schema.schema_id)


def change_schema(schema: Schema) -> pa.Schema:
    """Rows of the table with their operation. A deleted row has nothing but its key."""
    fields = [field.with_nullable(True) for field in arrow_schema(schema)]
    return pa.schema([*fields, pa.field(OP, pa.int8())])
