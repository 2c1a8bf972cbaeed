"""What changed between plain files of a table with row lineage, told by two narrow columns.

A row that was last updated before the older state was made is in both states as it is. All others
of the newer one are new or updated, and an updated row has kept its id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import BinaryType, NestedField, StringType

from meltline.expressions.quoting import quote_identifier
from meltline.kernels.parquet_scan import ParquetScan
from meltline.kernels.row_hash import differs_sql
from meltline.model.content import DataFile
from meltline.model.lineage import LAST_UPDATED, ROW_ID

KEPT_ID = "meltline_row_id"
TELLING = 4
"""So many narrow columns are compared to see that a row has changed."""


class LineageScan:
    """Inside one task. Files must be plain, and those added younger than `base`: the sequence
    number of the older state."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, scan: ParquetScan,
        fields: Sequence[NestedField], keys: Sequence[NestedField], base: int,
    ) -> None:
        self._connection = connection
        self._scan = scan
        self._columns = [field.name for field in fields]
        self._key_fields = list(keys)
        self._keys = [field.name for field in keys]
        self._narrow = [field for field in fields if field not in keys
                        and not isinstance(field.field_type, StringType | BinaryType)]
        self._base = base
        self._told: list[NestedField] = []

    def added(self, files: Sequence[DataFile]) -> pa.Table:
        """New and updated rows, with the id that an updated one has kept, else null."""
        names = ", ".join(map(quote_identifier, self._columns))
        parts = []
        for lineage, some in self._kinds(files):
            members = [files[index] for index in some]
            id_, condition = (ROW_ID, f" WHERE {_younger(self._base)}") if lineage else (
                "NULL::BIGINT", "")
            parts.append(self._run(f"SELECT {names}, {id_} AS {KEPT_ID} "
                                   f"FROM {self._scan.relation(members)}{condition}"))
        fields = [*self._scan.arrow, pa.field(KEPT_ID, pa.int64())]
        return pa.concat_tables(parts).cast(pa.schema(fields))

    def gone(
        self, removed: Sequence[DataFile], added: Sequence[DataFile], changed: pa.Table
    ) -> pa.Table | None:
        """Rows of `removed` that `added` does not hold as they were, or may not: `file` by its
        index, `pos`, the key columns as `k0`, `k1`, ..., and `updated`: the row has another value
        now in one of its narrow columns, and its key is the same. An update of other columns, or
        one that changed nothing, is not told from them.

        `changed` is what `added` gave for the same files. None: rows were carried over from
        elsewhere, and nothing can be said."""
        updated = changed.filter(pc.is_valid(changed.column(KEPT_ID)))
        names = {KEPT_ID: "id", **self._names(self._narrow)}
        self._connection.register(
            "lineage_updated", updated.select(list(names)).rename_columns(list(names.values())))
        if not self._told and len(self._narrow) > TELLING:
            self._told = self._telling(removed)
        narrow = self._told or self._narrow
        old = self._rows(removed, narrow)
        found = self._run(updated_sql(old, self._key_fields, [
            (self._narrow.index(field), field) for field in narrow]))
        missing = sum(file.records for file in removed) - found.num_rows - (
            sum(file.records for file in added) - changed.num_rows)
        if missing > 0:
            kept = " UNION ALL ".join(
                f"SELECT {ROW_ID} FROM {self._scan.relation([added[i] for i in some])} "
                f"WHERE NOT ({_younger(self._base)})"
                for lineage, some in self._kinds(added) if lineage)
            rest = self._run(deleted_sql(old, len(self._keys), kept))
            found = pa.concat_tables([found, rest.cast(found.schema)])
        self._connection.unregister("lineage_updated")
        return None if missing < 0 else found

    def _telling(self, removed: Sequence[DataFile]) -> list[NestedField]:
        """The narrow columns that have changed most often in the first of the files, none when
        that does not tell. They need not be the right ones for the others: a row that they do not
        tell of is read whole."""
        rows = self._rows(removed[:1], self._narrow)
        counts = ", ".join(
            f"count(*) FILTER ({differs_sql(f'o.c{i}', f'u.c{i}', field)})"
            for i, field in enumerate(self._narrow))
        (often,) = self._connection.sql(
            f"SELECT {counts} FROM ({rows}) o JOIN lineage_updated u ON o.id = u.id").fetchall()
        order = sorted(range(len(often)), key=lambda i: -often[i])
        return [self._narrow[i] for i in order if often[i]][:TELLING]

    def _names(self, narrow: Sequence[NestedField]) -> dict[str, str]:
        """Columns under names that no other ones have."""
        return {**{name: f"k{i}" for i, name in enumerate(self._keys)},
                **{field.name: f"c{self._narrow.index(field)}" for field in narrow}}

    def _rows(self, files: Sequence[DataFile], narrow: Sequence[NestedField]) -> str:
        """SQL: file, pos, row id and columns; a row without an id has it from its place."""
        keys = "".join(f", {quote_identifier(name)} AS {short}"
                       for name, short in self._names(narrow).items())
        parts = []
        for lineage, some in self._kinds(files):
            own = "[file_index::BIGINT + 1]"
            first = f"{[files[i].first_row_id for i in some]}{own} + file_row_number"
            id_ = f"coalesce({ROW_ID}, {first})" if lineage else first
            parts.append(f"SELECT {some}{own}::INTEGER AS file, file_row_number AS pos, {id_} AS id"
                         f"{keys} FROM {self._scan.relation([files[i] for i in some])}")
        return " UNION ALL ".join(parts)

    def _kinds(self, files: Sequence[DataFile]) -> Iterator[tuple[bool, list[int]]]:
        """Files by index: those with the columns of row lineage, and those without."""
        for lineage in (True, False):
            some = [index for index, file in enumerate(files)
                    if (found := self._scan.find(file)) and found.lineage == lineage]
            if some:
                yield lineage, some

    def _run(self, sql: str) -> pa.Table:
        return self._connection.sql(sql).to_arrow_table()


def _younger(base: int) -> str:
    """A row that says nothing was last updated by the snapshot that added its file."""
    return f"{LAST_UPDATED} IS NULL OR {LAST_UPDATED} > {base}"


def updated_sql(
    old: str, keys: Sequence[NestedField], narrow: Sequence[tuple[int, NestedField]]
) -> str:
    """`narrow` are columns to compare, with their numbers."""
    # a null key is no key to recognize a row by
    same = " AND ".join(f"o.k{i} IS NOT NULL AND NOT ({differs_sql(f'o.k{i}', f'u.k{i}', field)})"
                        for i, field in enumerate(keys))
    differs = " OR ".join(differs_sql(f"o.c{i}", f"u.c{i}", field)
                          for i, field in narrow) or "FALSE"
    return (f"SELECT o.file, o.pos, {same} AND ({differs}) AS updated{_keys(len(keys))} "
            f"FROM ({old}) o JOIN lineage_updated u ON o.id = u.id")


def deleted_sql(old: str, keys: int, kept: str) -> str:
    alive = "SELECT id FROM lineage_updated" + (f" UNION ALL {kept}" if kept else "")
    return (f"SELECT o.file, o.pos, FALSE AS updated{_keys(keys)} "
            f"FROM ({old}) o ANTI JOIN ({alive}) k ON o.id = k.id")


def _keys(count: int) -> str:
    return "".join(f", o.k{i}" for i in range(count))
