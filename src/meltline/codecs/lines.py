"""NDJSON: one event per line, cut by numpy and Arrow, with no Python per line.

Lines end with `\\n`; one `\\r` before it is dropped. Lines of nothing but spaces, tabs and `\\r`
are no events. Whether a line is JSON is not asked here: see `codecs/json.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow.compute as pc

from meltline.codecs.records import Bytes, ByteStream, Flags, Places, Records, one_bad
from meltline.codecs.text import BOM, SHOWN, cut, is_utf8, opening, repair, replace, size_name
from meltline.codecs.window import BLOCK, Window

NEWLINE = 10
RETURN = 13
BLANKS = " \t\r"
END = 1 << 62
PAST_THE_END = 64 << 10
"""Read steps beyond the end of a byte range, where only the rest of one line is wanted."""


class LineReader:
    """The lines that start within [start, end) of a stream.

    The stream must stand at `start - 1` (0 for 0): only the byte before tells whether a line starts
    at `start`. `first_line` is the number of the first line, or None when it is not known.
    """

    def __init__(
        self,
        stream: ByteStream,
        *,
        start: int = 0,
        end: int = END,
        first_line: int | None = 1,
        max_line_size: int = 64 << 20,
        block_size: int = BLOCK,
    ) -> None:
        self._window = Window(stream, max(start - 1, 0), block_size)
        self._start = start
        self._end = end
        self._line = first_line
        self._max_line_size = max_line_size

    def __iter__(self) -> Iterator[Records]:
        if self._start > 0 and not self._skip_line(self._end):
            return
        window = self._window
        searched = 0
        while window.origin < self._end:
            newlines = np.flatnonzero(window.bytes_held[searched:] == NEWLINE) + searched
            if len(newlines):
                yield from self._lines(newlines)
                window.drop(int(newlines[-1]) + 1)
            elif window.filled > max(self._max_line_size, SHOWN):
                yield self._overlong()
                searched = 0
                continue
            searched = window.filled
            if window.origin < self._end and not self._fill():
                if window.filled:
                    yield from self._lines(np.array([window.filled]))
                return

    def _fill(self) -> bool:
        left = self._end - self._window.origin - self._window.filled
        return self._window.fill(max(left, PAST_THE_END))

    def _skip_line(self, before: int) -> bool:
        """Drop up to the next newline. False when no line starts before the given offset."""
        window = self._window
        while window.origin < before:
            newline = window.find_newline()
            if newline >= 0:
                window.drop(newline + 1)
                return window.origin < before
            window.drop(window.filled)
            if not self._fill():
                return False
        return False

    def _overlong(self) -> Records:
        """One event for a line beyond the limit, of which only the beginning is kept."""
        window, place, line = self._window, self._window.origin, self._line
        body = opening(window.copy(0, SHOWN + 4))
        self._skip_line(END)
        if line is not None:
            self._line = line + 1
        return one_bad(body, self._too_long, place=place, line=line)

    @property
    def _too_long(self) -> str:
        return f"line is longer than {size_name(self._max_line_size)}"

    def _lines(self, ends: Places) -> Iterator[Records]:
        """The lines that end at `ends`, the first of which begins at the front of the window."""
        window, data = self._window, self._window.bytes_held
        starts = np.empty_like(ends)
        starts[0] = 0
        starts[1:] = ends[:-1] + 1
        ours = int(np.searchsorted(starts, self._end - window.origin))
        starts, ends = starts[:ours], ends[:ours]
        numbers = None if self._line is None else np.arange(self._line, self._line + ours)
        if self._line is not None:
            self._line += ours
        places = starts + window.origin
        overlong = ends - starts > self._max_line_size
        starts, ends = self._trim(data, starts, ends)
        keep = overlong | (ends > starts) & ~self._blank(data, starts, ends)
        if keep.any():
            yield self._decode(
                starts[keep],
                ends[keep],
                overlong[keep],
                places[keep],
                None if numbers is None else numbers[keep],
            )

    def _trim(self, data: Bytes, starts: Places, ends: Places) -> tuple[Places, Places]:
        """Leave out a byte order mark at the front of the file, and `\\r` before `\\n`."""
        if self._window.origin == 0 and data[: len(BOM)].tobytes() == BOM:
            starts = starts.copy()
            starts[0] = len(BOM)
        # an empty line looks at the newline of the line before, or at the last byte: never `\r`
        # that is its own, hence the comparison with start
        returns = (data[ends - 1] == RETURN) & (ends > starts)
        return starts, ends - returns

    def _blank(self, data: Bytes, starts: Places, ends: Places) -> Flags:
        first = data[np.minimum(starts, len(data) - 1)]
        blank: Flags = (ends > starts) & ((first == 32) | (first == 9) | (first == RETURN))
        if blank.any():
            texts = cut(self._window.arrow, starts[blank], ends[blank])
            trimmed = pc.binary_length(pc.ascii_ltrim(texts, BLANKS))
            blank[blank] = trimmed.to_numpy() == 0
        return blank

    def _decode(
        self,
        starts: Places,
        ends: Places,
        overlong: Flags,
        places: Places,
        numbers: Places | None,
    ) -> Records:
        window = self._window
        bad: dict[int, str] = {}
        shown = {int(i): opening(window.copy(starts[i], ends[i])) for i in np.flatnonzero(overlong)}
        texts = cut(window.arrow, starts, np.where(overlong, starts, ends))
        if not is_utf8(window.arrow, int(ends[-1])):
            texts, bad = repair(texts)
        texts = replace(texts, list(shown), list(shown.values()))
        bad.update(dict.fromkeys(shown, self._too_long))
        return Records(texts, places, numbers, bad)


def count_lines(stream: ByteStream, offsets: Sequence[int]) -> list[int]:
    """For each offset (ascending): how many newlines come before it in the stream."""
    room = bytearray(BLOCK)
    buffer = np.frombuffer(room, np.uint8)
    before: list[int] = []
    origin = passed = 0
    while len(before) < len(offsets):
        got = stream.readinto(room) or 0
        newlines = np.flatnonzero(buffer[:got] == NEWLINE) + origin
        origin += got
        while len(before) < len(offsets) and (offsets[len(before)] <= origin or not got):
            before.append(passed + int(np.searchsorted(newlines, offsets[len(before)])))
        passed += len(newlines)
    return before
