"""Changed rows on their way to events: one row struct each, its sign, its key and its hashes."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meltline.errors import RunError
from meltline.kernels.arrow_schema import arrow_schema
from meltline.kernels.changed_rows import Rows
from meltline.kernels.document_id import document_id_sql
from meltline.kernels.netting import survivors
from meltline.kernels.pairing import INSERT, Paired, pair
from meltline.kernels.row_hash import key_hashes_sql, row_hash_sql
from meltline.model.lineage import ROW_ID
from meltline.model.table_view import TableView

CHANGED = ("row", "sign", "id", "h1", "h2")
"""`row` STRUCT (null for a bare row), `sign` +1 or -1, `id` the document id or null, `h1` `h2` the
hash of the row or null where nothing can cancel."""


class Changes:
    """For one snapshot, inside one task."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, view: TableView) -> None:
        self._connection = connection
        self._view = view
        self._fields = view.schema.fields
        self._names = [field.name for field in self._fields]

    @property
    def keyed(self) -> bool:
        return bool(self._view.identifiers) or self._view.row_ids

    def hashes(self, table: pa.Table) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
        first, second = row_hash_sql(self._fields)
        found = self._run(table, f"{first} AS h1, {second} AS h2")
        return found.column("h1"), found.column("h2")

    def key_hashes(self, rows: Rows) -> pa.Table:
        """k1, k2 over the identifier columns, h1, h2 over all, and `pos`, of every row."""
        found = self._run(rows.table, key_hashes_sql(self._view.identifier_fields, self._fields))
        return found.append_column("pos", pa.array(rows.positions))

    def pack(self, rows: Rows, hashed: bool) -> pa.Table:
        """Rows as CHANGED columns. `hashed`: they may cancel, or need an order of their own."""
        table = rows.table
        count = table.num_rows
        columns: dict[str, object] = {"row": self._no_rows(count) if rows.bare else
                                      pa.chunked_array(table.select(self._names).to_struct_array())}
        columns["sign"] = pa.repeat(pa.scalar(rows.sign, pa.int8()), count)
        columns["id"] = self._ids(table)
        if hashed:
            columns["h1"], columns["h2"] = self.hashes(table)
        else:
            columns["h1"] = columns["h2"] = pa.nulls(count, pa.uint64())
        return pa.table(columns)

    def _no_rows(self, count: int) -> pa.Array:
        arrow: pa.Schema = arrow_schema(self._view.schema)
        return pa.nulls(count, pa.struct(list(arrow)))

    def _ids(self, table: pa.Table) -> pa.ChunkedArray | pa.Array:
        if self._view.identifiers:
            sql = document_id_sql(self._view.identifier_fields)
            return self._run(table, f"{sql} AS id").column("id")
        if self._view.row_ids:
            return pc.cast(table.column(ROW_ID), pa.string())
        return pa.nulls(table.num_rows, pa.string())

    def split(self, changed: pa.Table, buckets: int) -> Iterator[tuple[int, pa.Table]]:
        """By key, or without keys by content: equal rows must meet to cancel."""
        if buckets == 1:
            yield 0, changed
            return
        key = "id" if self.keyed else "h1"
        self._connection.register("split_keys", changed.select([key]))
        numbers = self._connection.sql(
            f"SELECT (hash({key}) % {buckets})::INTEGER AS b FROM split_keys"
        ).to_arrow_table().column("b").to_numpy()
        self._connection.unregister("split_keys")
        for bucket in np.unique(numbers):
            yield int(bucket), changed.filter(pa.array(numbers == bucket))

    def settle(
        self, changed: pa.Table, with_before: bool, net: bool = True
    ) -> tuple[pa.Table, Paired]:
        """The rows that really changed and what became of each. Raises without a key for deletes.

        All rows of a key must be here. Not `net`: it is known already that none cancel.
        """
        signs = changed.column("sign")
        whole = pc.filter(signs, pc.is_valid(changed.column("row")))
        if net and pc.min(whole).as_py() == -1 and pc.max(whole).as_py() == 1:
            changed = self._netted(changed)
        ids = changed.column("id")
        if not self.keyed or ids.null_count:
            return changed, self._inserts(changed)
        only_added = pc.min(signs).as_py() == 1
        if only_added and pc.count_distinct(ids).as_py() == changed.num_rows:
            return changed, self._inserts(changed)
        paired = pair(self._connection, changed.drop_columns(["row"]), with_before)
        if paired.duplicates and changed.column("h1").null_count:
            changed = self._hashed(changed)
            paired = pair(self._connection, changed.drop_columns(["row"]), with_before)
        return changed, paired

    def _netted(self, changed: pa.Table) -> pa.Table:
        if changed.column("h1").null_count:
            changed = self._hashed(changed)
        keys = changed.select(["h1", "h2", "sign"])
        if self._view.row_ids:
            # two rows may look alike: only one of the same id is the same row
            mixed = self._run(changed, "hash(h1, id) AS h1").column("h1")
            keys = keys.set_column(0, "h1", mixed)
        if changed.column("row").null_count:
            # the row of a bare one is not known, so none of its key can be said to be carried over
            ids, rows = changed.column("id"), changed.column("row")
            bare = pc.is_in(ids, value_set=pc.unique(ids.filter(pc.is_null(rows))))
            mixed = self._run(keys.append_column("bare", bare),
                              "CASE WHEN bare THEN hash(h1, sign) ELSE h1 END AS h1")
            keys = keys.set_column(0, "h1", mixed.column("h1"))
        kept = survivors(self._connection, keys)
        return changed if len(kept) == changed.num_rows else changed.take(pa.array(kept))

    def _hashed(self, changed: pa.Table) -> pa.Table:
        first, second = row_hash_sql(self._fields, "row.")
        found = self._run(changed, f"{first} AS h1, {second} AS h2")
        return changed.drop_columns(["h1", "h2"]).append_column(
            "h1", found.column("h1")).append_column("h2", found.column("h2"))

    def _inserts(self, changed: pa.Table) -> Paired:
        if changed.num_rows and pc.min(changed.column("sign")).as_py() == -1:
            gone = pc.sum(pc.equal(changed.column("sign"), -1)).as_py()
            raise RunError(
                f"snapshot {self._view.snapshot_id} of table {self._view.table} removes or changes "
                f"rows ({gone} or more), and the table has no identifier_columns to tell which; "
                f"nothing of it was published",
                hint="name identifier_columns for the table; without them it can only be appended "
                     "to")
        count = changed.num_rows
        return Paired(pa.array(np.arange(count)), pa.repeat(INSERT, count), 0)

    def _run(self, table: pa.Table, columns: str) -> pa.Table:
        self._connection.register("changed_rows", table)
        found = self._connection.sql(f"SELECT {columns} FROM changed_rows").to_arrow_table()
        self._connection.unregister("changed_rows")
        return found
