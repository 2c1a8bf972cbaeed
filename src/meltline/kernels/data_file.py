"""Opens a data file of a table for reading: Parquet or ORC, wherever it lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc
from pyiceberg.io import FileIO

from meltline.errors import BaseMoved, RunError

KeepGroup = Callable[[Any, pa.Schema], bool]
"""Whether a row group, by its footer entry and the file's schema, must be read."""


class OpenDataFile:
    """`pieces` reads columns; each piece comes with the position of its first row."""

    def __init__(self, source: pq.ParquetFile | orc.ORCFile, schema: pa.Schema) -> None:
        self._source = source
        self.schema = schema

    def pieces(
        self, columns: Sequence[str], keep: KeepGroup | None = None
    ) -> Iterator[tuple[int, pa.Table]]:
        """A row group each, those left out that `keep` does not want."""
        if isinstance(self._source, orc.ORCFile):
            position = 0
            for stripe in range(self._source.nstripes):
                batch = self._source.read_stripe(stripe, columns=list(columns))
                yield position, pa.Table.from_batches([batch])
                position += batch.num_rows
            return
        footer, position = self._source.metadata, 0
        for number in range(footer.num_row_groups):
            group = footer.row_group(number)
            if keep is None or keep(group, self.schema):
                yield position, self._rows(number, columns, group.num_rows)
            position += group.num_rows

    def _rows(self, group: int, columns: Sequence[str], rows: int) -> pa.Table:
        if not columns:
            return pa.table({"": pa.nulls(rows)}).select([])
        return self._source.read_row_group(group, columns=list(columns), use_threads=False)


@contextmanager
def open_data_file(io: FileIO, path: str, format_: str) -> Iterator[OpenDataFile]:
    """Raises BaseMoved when the file is gone: the table has gone on without it."""
    if format_ not in ("parquet", "orc"):
        raise RunError(
            f"data file {path} is {format_}; keys can be looked up in Parquet and ORC files only",
            hint="set delete_mode: equality, or rewrite the table's files as Parquet "
                 "(CALL system.rewrite_data_files)")
    try:
        stream = io.new_input(path).open()
    except FileNotFoundError:
        raise BaseMoved(f"data file {path} is gone") from None
    with stream:
        if format_ == "orc":
            file = orc.ORCFile(stream)
            yield OpenDataFile(file, file.schema)
        else:
            parquet = pq.ParquetFile(stream, pre_buffer=True)
            yield OpenDataFile(parquet, parquet.schema_arrow)
