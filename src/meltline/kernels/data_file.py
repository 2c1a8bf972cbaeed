"""Opens a data file of a table for reading: Parquet, ORC or Avro, wherever it lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc
from pyiceberg.io import FileIO

from meltline.errors import BaseMoved, RunError
from meltline.kernels.avro_file import read_avro

KeepGroup = Callable[[int, pq.RowGroupMetaData], bool]
"""Whether a row group must be read, by the place of its first row and its entry in the footer."""


class OpenDataFile:
    """`pieces` reads columns; each piece comes with the position of its first row."""

    def __init__(self, source: pq.ParquetFile | orc.ORCFile | pa.Table, schema: pa.Schema) -> None:
        self._source = source
        self.schema = schema

    def pieces(
        self, columns: Sequence[str], keep: KeepGroup | None = None, at_once: int | None = None
    ) -> Iterator[tuple[int, pa.Table]]:
        """A row group each, or `at_once` of its rows. Those of Parquet files are left out that
        `keep` does not want."""
        if isinstance(self._source, pa.Table):
            yield 0, self._source.select(list(columns))
        elif isinstance(self._source, orc.ORCFile):
            position = 0
            for stripe in range(self._source.nstripes):
                batch = self._source.read_stripe(stripe, columns=list(columns))
                yield position, pa.Table.from_batches([batch])
                position += batch.num_rows
        else:
            yield from self._parquet(list(columns), keep, at_once)

    def _parquet(
        self, columns: list[str], keep: KeepGroup | None, at_once: int | None
    ) -> Iterator[tuple[int, pa.Table]]:
        footer, position = self._source.metadata, 0
        for number in range(footer.num_row_groups):
            group = footer.row_group(number)
            if keep is None or keep(position, group):
                at = position
                for rows in self._rows(number, columns, group.num_rows, at_once):
                    yield at, rows
                    at += rows.num_rows
            position += group.num_rows

    def _rows(
        self, group: int, columns: list[str], rows: int, at_once: int | None
    ) -> Iterator[pa.Table]:
        if not columns:
            yield pa.table({"": pa.nulls(rows)}).select([])
        elif at_once is None:
            yield self._source.read_row_group(group, columns=columns, use_threads=False)
        else:
            for batch in self._source.iter_batches(
                    at_once, row_groups=[group], columns=columns, use_threads=False):
                yield pa.Table.from_batches([batch])


@contextmanager
def open_data_file(io: FileIO, path: str, format_: str) -> Iterator[OpenDataFile]:
    """Raises BaseMoved when the file is gone: the table has gone on without it. What is wrong with
    its content is said to be at this path."""
    with ExitStack() as stack:
        try:
            file = _open(stack, io, path, format_)
        except FileNotFoundError:
            raise BaseMoved(f"data file {path} is gone") from None
        with _named(path):
            yield file


def _open(stack: ExitStack, io: FileIO, path: str, format_: str) -> OpenDataFile:
    if format_ == "avro":
        table = read_avro(io, path)
        return OpenDataFile(table, table.schema)
    if format_ not in ("parquet", "orc"):
        raise RunError(f"{path}: files of the format {format_} cannot be read")
    stream = stack.enter_context(io.new_input(path).open())
    if format_ == "orc":
        stripes = orc.ORCFile(stream)
        return OpenDataFile(stripes, stripes.schema)
    groups = pq.ParquetFile(stream, pre_buffer=True)
    return OpenDataFile(groups, groups.schema_arrow)


@contextmanager
def _named(path: str) -> Iterator[None]:
    try:
        yield
    except RunError as error:
        error.at = error.at or path
        raise
