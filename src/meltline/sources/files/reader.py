"""The half of the source `files` that works inside of a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import cache

import duckdb
import pyarrow as pa

from meltline.codecs.compression import compression_of, decompressed
from meltline.codecs.csv import CsvReader
from meltline.codecs.csv_fields import Dialect
from meltline.codecs.json_document import read_document
from meltline.codecs.lines import LineReader, count_lines
from meltline.codecs.parquet import read_parquet
from meltline.codecs.records import ByteStream, Records, Unreadable
from meltline.codecs.window import BLOCK
from meltline.errors import RunError
from meltline.kernels.connection import connect
from meltline.model.event import PLACE_BITS, Shape
from meltline.model.plan import Split
from meltline.sources.files.chunks import METADATA, ROWS, Chunker, to_table
from meltline.sources.files.opening import Opener, PlannedBytes
from meltline.sources.files.parts import Part, read_split
from meltline.sources.files.settings import FilesSettings
from meltline.sources.files.storage import Storage, refuse

Connect = Callable[[], duckdb.DuckDBPyConnection]
Decoded = Iterator[tuple[Mapping[str, str], Records]]


@dataclass
class FilesReader:
    """Implements SplitReader.

    `ord` is the file's number in the plan and the event's place in the file (byte offset of its
    line, or its record number), so it is the same however the plan was cut.

    `with_line` says that the metadata `line` is used. Without it, `line` is NULL for a byte range
    that does not begin at 0, because all lines before would have to be counted; `line_numbers`
    does that afterwards for the few events that need it.

    `skipped_files` counts the files that `missing_files: skip` left out since this reader was made.
    """

    settings: FilesSettings
    with_line: bool = False
    block_size: int = BLOCK
    skipped_files: int = field(default=0, compare=False)

    def shape(self) -> Shape:
        """Columns of Parquet files are known only when they are read, file by file."""
        return self._shape({})

    def open(self, split: Split) -> Iterator[tuple[Shape, pa.Table]]:
        opener = Opener(Storage(self.settings.storage), self.settings.missing_files)
        chunker = Chunker()
        with ExitStack() as stack:
            stack.callback(lambda: self._count_skipped(opener))
            connection = cache(lambda: stack.enter_context(closing(connect())))
            for part, file in opener.open_all(read_split(split)):
                for types, records in self._decode(part, file, connection):
                    yield from self._tables(part, types, records, chunker)
            yield from chunker.rest()

    def line_numbers(self, split: Split, ords: Sequence[int]) -> list[int]:
        """The line of each event, by `ord`, from 1 on. Reads the files again if it must."""
        if self.settings.codec != "ndjson":
            return [_place(ord_) + 1 for ord_ in ords]
        places: dict[int, list[int]] = {}
        for ord_ in ords:
            places.setdefault(ord_ >> PLACE_BITS, []).append(_place(ord_))
        parts = {part.index: part for part in read_split(split)}
        opener = Opener(Storage(self.settings.storage), "stop")
        lines: dict[int, int] = {}
        for index, offsets in places.items():
            part = parts[index]
            with opener.open_one(part) as file, _errors_named(part.path):
                ascending = sorted(offsets)
                before = count_lines(self._stream(part, file), ascending)
            for offset, count in zip(ascending, before, strict=True):
                lines[(index << PLACE_BITS) | offset] = count + 1
        return [lines[ord_] for ord_ in ords]

    def _count_skipped(self, opener: Opener) -> None:
        self.skipped_files += opener.skipped

    def _tables(
        self, part: Part, types: Mapping[str, str], records: Records, chunker: Chunker
    ) -> Iterator[tuple[Shape, pa.Table]]:
        shape = self._shape(types)
        for piece in records.pieces(ROWS):
            table = to_table(
                piece,
                shape,
                path=part.path,
                index=part.index,
                offsets=self.settings.codec == "ndjson",
            )
            yield from chunker.add(shape, table)

    def _shape(self, types: Mapping[str, str]) -> Shape:
        return Shape("typed" if self.settings.codec == "parquet" else "json", METADATA, types)

    def _decode(self, part: Part, file: pa.NativeFile, connect: Connect) -> Decoded:
        with _errors_named(part.path):
            if self.settings.codec == "parquet":
                yield from read_parquet(file, connect(), start=part.start, end=part.end)
                return
            for records in self._texts(part, file, connect):
                yield {}, records

    def _texts(self, part: Part, file: pa.NativeFile, connect: Connect) -> Iterator[Records]:
        settings = self.settings
        if settings.codec == "ndjson":
            return iter(self._lines(part, file))
        stream = self._stream(part, file)
        if settings.codec == "json":
            return read_document(stream, settings.json_key, connect())
        return iter(
            CsvReader(
                stream,
                connect(),
                dialect=Dialect(settings.csv.delimiter, settings.csv.quote_character),
                header=settings.csv.header,
                detect_header=settings.csv.detect_header,
                max_record_size=settings.max_line_size,
                block_size=self._block_size(part),
            )
        )

    def _lines(self, part: Part, file: pa.NativeFile) -> LineReader:
        first_line: int | None = 1
        if part.start:
            first_line = None
            if self.with_line:
                # the newline that ends the line before, wherever it is, is not counted yet
                first_line = count_lines(self._stream(part, file), [part.start - 1])[0] + 2
        return LineReader(
            self._stream(part, file, max(part.start - 1, 0)),
            start=part.start,
            end=part.end if not part.is_whole else 1 << 62,
            first_line=first_line,
            max_line_size=self.settings.max_line_size,
            block_size=self._block_size(part),
        )

    def _block_size(self, part: Part) -> int:
        """No buffers of megabytes for files of a few bytes, compressed ones included."""
        return min(self.block_size, max(4 * part.size, 4096))

    def _stream(self, part: Part, file: pa.NativeFile, position: int = 0) -> ByteStream:
        raw = PlannedBytes(file, part, position)
        return decompressed(raw, compression_of(part.path, self.settings.compression))


def _place(ord_: int) -> int:
    return ord_ & ((1 << PLACE_BITS) - 1)


@contextmanager
def _errors_named(path: str) -> Iterator[None]:
    """Damage and trouble with reading become errors that say which file it is."""
    try:
        yield
    except Unreadable as error:
        raise RunError(
            f"{path}: {error}",
            hint="put a good copy in its place, or move it away and set missing_files: skip",
        ) from error
    except OSError as error:
        refuse(error, path)
