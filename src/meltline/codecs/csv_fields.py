"""Where the records and fields of CSV text are.

A quote means something only where a field begins; inside, two quotes are one. What stands between
the closing quote and the next delimiter belongs to the value (`"5"in` is 5in). Records end with
`\\n` or `\\r\\n` outside of quotes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meltline.codecs.records import Bytes, Flags, Places
from meltline.codecs.text import cut, replace

NEWLINE = 10
RETURN = 13


@dataclass(frozen=True)
class Dialect:
    delimiter: str = ","
    quote: str = '"'

    @property
    def bytes(self) -> tuple[int, int]:
        return ord(self.delimiter), ord(self.quote)


@dataclass(frozen=True)
class Layout:
    """Fields of whole records: `first` and `count` say which fields are a record's."""

    starts: Places
    ends: Places
    first: Places
    count: Places

    def records(self) -> tuple[Places, Places]:
        """Where the records begin and end."""
        return self.starts[self.first], self.ends[self.first + self.count - 1]

    def without_first(self) -> Layout:
        return Layout(self.starts, self.ends, self.first[1:], self.count[1:])


def find_boundaries(data: Bytes, dialect: Dialect) -> Places:
    """The delimiters and newlines outside of quotes."""
    delimiter, quote = dialect.bytes
    at = np.flatnonzero((data == delimiter) | (data == quote) | (data == NEWLINE))
    is_quote = data[at] == quote
    quotes = at[is_quote]
    if not len(quotes):
        return at
    if not _well_formed(data, quotes, delimiter, quote):
        return _walk(data, dialect)
    # only odd or even matters, so the count may run over
    inside = np.cumsum(is_quote, dtype=np.uint8) & 1
    outside: Places = at[~is_quote & (inside == 0)]
    return outside


def _well_formed(data: Bytes, quotes: Places, delimiter: int, quote: int) -> bool:
    """Whether every quote stands at the edge of its field or beside another: then counting is
    enough to tell what is inside of quotes."""
    before = data[quotes[0::2] - 1]
    opens = (before == delimiter) | (before == NEWLINE) | (before == quote) | (quotes[0::2] == 0)
    closing = quotes[1::2] + 1
    after = data[np.minimum(closing, len(data) - 1)]
    later = data[np.minimum(closing + 1, len(data) - 1)]
    closes = (after == delimiter) | (after == NEWLINE) | (after == quote)
    closes |= (after == RETURN) & (later == NEWLINE)
    closes |= closing >= len(data)
    return bool(opens.all() and closes.all())


def _walk(data: Bytes, dialect: Dialect) -> Places:
    """The same, field by field: for text with a quote in the middle of a value."""
    delimiter, quote = re.escape(dialect.delimiter), re.escape(dialect.quote)
    field = re.compile(
        f"(?:{quote}[^{quote}]*(?:{quote}{quote}[^{quote}]*)*(?:{quote}[^{delimiter}\n]*)?"
        f"|[^{delimiter}\n]*)([{delimiter}\n]|\\Z)".encode()
    )
    ends = [found.start(1) for found in field.finditer(data.tobytes()) if found[1]]
    return np.array(ends, np.int64)


def lay_out(data: Bytes, boundaries: Places) -> Layout:
    """The fields of whole records: the last boundary is a newline, or the end of the data."""
    starts = np.empty_like(boundaries)
    starts[0] = 0
    starts[1:] = boundaries[:-1] + 1
    is_last = data[np.minimum(boundaries, len(data) - 1)] == NEWLINE
    is_last[-1] = True
    last = np.flatnonzero(is_last)
    first = np.append(0, last[:-1] + 1)
    ends = boundaries.copy()
    returns = (data[ends[last] - 1] == RETURN) & (ends[last] > starts[last])
    ends[last] -= returns
    count = last - first + 1
    blank = (count == 1) & (ends[first] == starts[first])
    return Layout(starts, ends, first[~blank], count[~blank])


def read_column(
    data: Bytes, buffer: pa.Buffer, starts: Places, ends: Places, dialect: Dialect
) -> pa.Array:
    """The values of one field of every record, without their quotes."""
    quote = dialect.bytes[1]
    filled = ends > starts
    quoted = filled & (data[np.minimum(starts, len(data) - 1)] == quote)
    if not quoted.any():
        return cut(buffer, starts, ends)
    wrapped = quoted & (data[ends - 1] == quote) & (ends - starts > 1)
    texts = cut(buffer, starts + wrapped, ends - wrapped)
    return _unescape(texts, quoted, wrapped, dialect.quote)


def _unescape(texts: pa.Array, quoted: Flags, wrapped: Flags, quote: str) -> pa.Array:
    """Turn two quotes into one where a value was quoted."""
    inner = np.flatnonzero(wrapped & pc.match_substring(texts, quote).to_numpy(False))
    odd = np.flatnonzero(quoted & ~wrapped)
    if len(inner):
        escaped = texts.take(pa.array(inner))
        pairs = pc.count_substring(escaped, quote * 2).to_numpy()
        regular = pairs * 2 == pc.count_substring(escaped, quote).to_numpy()
        mask = np.zeros(len(texts), bool)
        mask[inner[regular]] = True
        single = pc.replace_substring(escaped.filter(pa.array(regular)), quote * 2, quote)
        odd = np.union1d(odd, inner[~regular])
        texts = pc.replace_with_mask(texts, pa.array(mask), single)
    raw = {index: texts[index].as_py() for index in odd.tolist()}
    whole = (quote + text + quote if wrapped[index] else text for index, text in raw.items())
    return replace(texts, list(raw), [unquote(field, quote) for field in whole])


def unquote(field: str, quote: str) -> str:
    """The value of one field that begins with a quote, whatever comes after the closing one."""
    mark = re.escape(quote)
    inside = re.match(f"{mark}([^{mark}]*(?:{mark}{mark}[^{mark}]*)*){mark}?", field)
    if inside is None:
        return field
    return inside[1].replace(quote * 2, quote) + field[inside.end() :]


def is_open(field: bytes, quote: str) -> bool:
    """Whether a field begins with a quote that is not closed."""
    mark = re.escape(quote)
    whole = f"{mark}[^{mark}]*(?:{mark}{mark}[^{mark}]*)*{mark}(?!{mark})"
    return field.startswith(quote.encode()) and not re.match(whole.encode(), field)
