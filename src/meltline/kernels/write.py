"""Rows of one table to Parquet files, one open file per partition, within a memory bound."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from meltline.kernels.arrow_schema import arrow_schema
from meltline.kernels.parquet import DATA, ClosedParquet, ParquetFile
from meltline.kernels.partition import Partitioner
from meltline.kernels.sort import RowOrder
from meltline.kernels.storage import open_storage
from meltline.kernels.write_settings import write_settings
from meltline.model.target import TableTarget


@dataclass(frozen=True)
class WriteLimits:
    """`buffered` bytes of rows may wait in memory, in one row group at most `row_group` bytes;
    `gathered` rows are split into partitions at once."""

    buffered: int = 256 << 20
    row_group: int = 64 << 20
    open_files: int = 100
    gathered: int = 1 << 18


def searched_columns(target: TableTarget) -> set[int]:
    """The columns that readers and key lookups prune files by."""
    return {*target.schema.identifier_field_ids,
            *(field.source_id for field in target.spec.fields),
            *(field.source_id for field in target.sort_order.fields)}


@dataclass
class _Lot:
    """What is under way for one partition."""

    partition: list[Any]
    rows: list[pa.Table] = field(default_factory=list)
    size: int = 0
    file: ParquetFile | None = None
    used: int = 0


class TableWriter:
    """Takes rows in any order; `finish` returns every file exactly once."""

    def __init__(
        self, target: TableTarget, path_prefix: str, limits: WriteLimits,
        content: Mapping[str, Any] = DATA,
    ) -> None:
        self._target = target
        self._content = content
        self._prefix = path_prefix
        self._limits = limits
        settings = write_settings(target.properties, content != DATA)
        self._row_group = min(limits.row_group, settings.row_group or limits.row_group)
        self._file_size = settings.target_file_size
        self._searched = searched_columns(target)
        self._io = open_storage(target.io_properties)
        self._arrow_schema = arrow_schema(target.schema)
        self._partitioner = Partitioner(target.schema, target.spec)
        # deletes have their own columns: the order is one of rows
        self._order = RowOrder(target.schema, target.sort_order) if content == DATA else None
        self._lots: dict[str, _Lot] = {}
        self._closed: list[ClosedParquet] = []
        self._gathered: list[pa.Table] = []
        self._sequence = 0
        self._clock = 0

    def add(self, rows: pa.Table) -> None:
        self._gathered.append(rows)
        if (sum(table.num_rows for table in self._gathered) >= self._limits.gathered
                or sum(table.nbytes for table in self._gathered) >= self._row_group):
            self._distribute()

    def _distribute(self) -> None:
        if not self._gathered:
            return
        rows, self._gathered = pa.concat_tables(self._gathered), []
        for partition, part in self._partitioner.split(rows):
            if not part.num_rows:
                continue
            # by the text: NaN does not equal itself, and 0.0 equals -0.0
            lot = self._lots.setdefault(json.dumps(partition), _Lot(partition))
            lot.rows.append(part)
            lot.size += part.nbytes
            self._clock += 1
            lot.used = self._clock
            if lot.size >= self._row_group:
                self._flush(lot)
        while sum(lot.size for lot in self._lots.values()) > self._limits.buffered:
            self._flush(max(self._lots.values(), key=lambda lot: lot.size))

    def finish(self) -> list[ClosedParquet]:
        self.roll()
        return self._closed

    @property
    def buffered(self) -> int:
        """Bytes of rows in memory."""
        return int(sum(table.nbytes for table in self._gathered)
                   + sum(lot.size for lot in self._lots.values()))

    @property
    def open_files(self) -> int:
        return sum(lot.file is not None for lot in self._lots.values())

    def roll(self) -> None:
        """Write what is in memory and close every file; rows that follow begin new ones."""
        self._distribute()
        for lot in self._lots.values():
            self._flush(lot)
            self._close(lot)

    def abandon(self) -> None:
        for lot in self._lots.values():
            if lot.file:
                lot.file.abandon()

    def _flush(self, lot: _Lot) -> None:
        if not lot.rows:
            return
        rows = pa.concat_tables(lot.rows)
        if self._order is not None:
            rows = self._order.sort(rows)
        lot.rows, lot.size = [], 0
        if lot.file is None:
            self._make_room()
            lot.file = self._open()
        if lot.file.write(rows) >= self._file_size:
            self._close(lot)

    def _make_room(self) -> None:
        """Close the file that was idle longest; its partition gets another when it needs one."""
        open_lots = [lot for lot in self._lots.values() if lot.file]
        if len(open_lots) >= self._limits.open_files:
            self._close(min(open_lots, key=lambda lot: lot.used))

    def _open(self) -> ParquetFile:
        path = self._target.spread(f"{self._prefix}-{self._sequence}.parquet")
        self._sequence += 1
        return ParquetFile(self._io, path, self._target.schema, self._arrow_schema,
                           self._target.properties, self._content,
                           None if self._order is None else self._order.order_id,
                           self._searched)

    def _close(self, lot: _Lot) -> None:
        if lot.file is not None:
            self._closed.append(lot.file.close(self._target.spec.spec_id, lot.partition))
            lot.file = None
