"""CSV: every value is text, and an empty one is null. The bodies are built by DuckDB."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa

from meltline.codecs.csv_fields import (
    NEWLINE,
    Dialect,
    Layout,
    find_boundaries,
    is_open,
    lay_out,
    read_column,
)
from meltline.codecs.records import ByteStream, Places, Records, one_bad
from meltline.codecs.text import BOM, cut, is_utf8, opening, repair, size_name, utf8_fault
from meltline.codecs.window import BLOCK, Window

_VIEW = "meltline_csv_columns"


class CsvReader:
    """The records of one file; `place` counts them from 0, without the header and empty lines.

    `header` names the columns. Without it, the first record does when `detect_header` is set,
    else they are column1, column2, ... as many as the first record has. With both, a first record
    that repeats the names is left out. A record with another number of fields is a bad event.
    """

    def __init__(
        self,
        stream: ByteStream,
        con: duckdb.DuckDBPyConnection,
        *,
        dialect: Dialect,
        header: tuple[str, ...] | None = None,
        detect_header: bool = True,
        max_record_size: int = 64 << 20,
        block_size: int = BLOCK,
    ) -> None:
        self._window = Window(stream, 0, block_size)
        self._con = con
        self._dialect = dialect
        self._header = header
        self._detect_header = detect_header
        self._names: tuple[str, ...] = ()
        self._max_record_size = max_record_size
        self._next = 0

    def __iter__(self) -> Iterator[Records]:
        window, more = self._window, True
        while more:
            more = window.fill()
            if window.origin == 0 and window.copy(0, len(BOM)) == BOM and window.filled >= len(BOM):
                window.drop(len(BOM))
            yield from self._whole_records(at_end=not more)
            # a record that does not end: give up its first line, go on with the next
            while window.filled and (not more or window.filled > self._max_record_size):
                yield self._give_up_line(at_end=not more)
                yield from self._whole_records(at_end=not more)

    def _whole_records(self, *, at_end: bool) -> Iterator[Records]:
        window, data = self._window, self._window.bytes_held
        if not len(data):
            return
        boundaries = find_boundaries(data, self._dialect)
        tail = int(boundaries[-1]) + 1 if len(boundaries) else 0
        if at_end and not is_open(window.copy(tail, window.filled), self._dialect.quote):
            boundaries = np.append(boundaries, len(data))
            size = len(data)
        else:
            newlines = np.flatnonzero(data[boundaries] == NEWLINE)
            if not len(newlines):
                return
            boundaries = boundaries[: newlines[-1] + 1]
            size = int(boundaries[-1]) + 1
        layout = lay_out(data, boundaries)
        layout = self._take_header(layout)
        if len(layout.first):
            yield self._decode(layout, size)
        window.drop(size)

    def _give_up_line(self, *, at_end: bool) -> Records:
        """One bad event for a line; the rest of the file too when there are no names yet."""
        window = self._window
        newline = window.find_newline()
        end = window.filled if newline < 0 else newline
        body = opening(window.copy(0, end))
        reason = "a quote is opened and never closed"
        if not at_end:
            limit = size_name(self._max_record_size)
            reason = f"a record is longer than {limit}, or a quote in it is never closed"
        window.drop(min(end + 1, window.filled))
        nameless = not self._names and self._header is None
        if nameless:
            reason = f"the header cannot be read, nor anything after it: {reason}"
            newline = -1
            window.drop(window.filled)
        while newline < 0 and window.fill():
            newline = -1 if nameless else window.find_newline()
            window.drop(window.filled if newline < 0 else newline + 1)
        self._next += 1
        return one_bad(body, reason, place=self._next - 1, line=self._next)

    def _take_header(self, layout: Layout) -> Layout:
        """Settle the column names at the first record, and leave it out if it is the header."""
        if self._names or not len(layout.first):
            return layout
        at = range(int(layout.first[0]), int(layout.first[0] + layout.count[0]))
        found = [self._field(int(layout.starts[i]), int(layout.ends[i])) for i in at]
        is_header = self._detect_header
        if self._header is not None:
            self._names = self._header
            is_header = is_header and tuple(found) == self._header
        else:
            self._names = column_names(found if is_header else [""] * len(found))
        return layout.without_first() if is_header else layout

    def _field(self, start: int, end: int) -> str:
        raw = self._window.copy(start, end)
        if utf8_fault(raw) is not None:
            return raw.decode(errors="replace")
        data = np.frombuffer(raw or b"\n", np.uint8)
        one = read_column(
            data, pa.py_buffer(raw), np.array([0]), np.array([len(raw)]), self._dialect
        )
        text: str = one[0].as_py()
        return text

    def _decode(self, layout: Layout, size: int) -> Records:
        buffer, width = self._window.arrow, len(self._names)
        starts, ends = layout.records()
        reasons: dict[int, str] = {}
        if not is_utf8(buffer, size):
            _, reasons = repair(cut(buffer, starts, ends))
        for index in np.flatnonzero(layout.count != width).tolist():
            wrong = f"expected {width} fields but found {layout.count[index]}"
            reasons[index] = f"{wrong}; {reasons[index]}" if index in reasons else wrong
        good = np.ones(len(starts), bool)
        good[list(reasons)] = False
        bodies = self._bodies(layout.first[good], layout)
        if reasons:
            texts, _ = repair(cut(buffer, starts[~good], ends[~good]))
            order = np.argsort(np.argsort(~good, kind="stable"), kind="stable")
            bodies = pa.concat_arrays([bodies, texts]).take(pa.array(order))
        place = np.arange(self._next, self._next + len(starts), dtype=np.int64)
        self._next += len(starts)
        return Records(bodies, place, place + 1, reasons)

    def _bodies(self, first: Places, layout: Layout) -> pa.Array:
        data, buffer = self._window.bytes_held, self._window.arrow
        columns = {
            f"c{index}": read_column(
                data,
                buffer,
                layout.starts[first + index],
                layout.ends[first + index],
                self._dialect,
            )
            for index in range(len(self._names))
        }
        self._con.register(_VIEW, pa.table(columns))
        try:
            found = self._con.sql(bodies_sql(self._names, _VIEW)).to_arrow_table()
        finally:
            self._con.unregister(_VIEW)
        bodies = found.column("body")
        # combining copies even when there is only one piece
        whole = bodies.chunk(0) if bodies.num_chunks == 1 else bodies.combine_chunks()
        return whole.cast(pa.large_string())


def bodies_sql(names: tuple[str, ...], view: str) -> str:
    """Rows with the columns c0, c1, ... as the text of JSON objects."""
    pairs = ", ".join(
        f"'{name.replace(chr(39), chr(39) * 2)}', nullif(c{index}, '')"
        for index, name in enumerate(names)
    )
    return f"SELECT json_object({pairs})::VARCHAR AS body FROM {view}"


def column_names(found: list[str]) -> tuple[str, ...]:
    """Names for every column: an empty one is counted, one that is there already gets a number.

    Two columns of one name would make one of them vanish.
    """
    names: list[str] = []
    for index, name in enumerate(found):
        wanted = name or f"column{index + 1}"
        candidate, number = wanted, 2
        while candidate in names:
            candidate, number = f"{wanted}_{number}", number + 1
        names.append(candidate)
    return tuple(names)
