"""The codec `json`: a file is one JSON document, an array of events or one that holds an array."""

from __future__ import annotations

import re
from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meltline.codecs.json import fault, find_others, not_an_object, not_valid
from meltline.codecs.json_scan import Elements, find_elements
from meltline.codecs.records import ByteStream, Records, one_bad
from meltline.codecs.text import BOM, cut, invalid_utf8, is_utf8, opening, utf8_fault

CHUNK_ROWS = 1 << 16
CHUNK_BYTES = 32 << 20
_SPACE = " \t\r\n"
_FIRST = re.compile(b"(?:%s)?[ \t\r\n]*((?!%s)[^ \t\r\n])" % (BOM, BOM))


def read_document(
    stream: ByteStream, key: str | None, con: duckdb.DuckDBPyConnection
) -> Iterator[Records]:
    """The events of one file, each with the text it has in the file.

    With `key` they are the elements of the array under it; without, those of the top array, or the
    top object itself. A file that is not like that becomes one bad event: nothing of it is used.
    The file is held in memory whole.
    """
    raw = stream.read()
    try:
        yield from _read(raw, key, con)
    except _Broken as broken:
        yield one_bad(opening(raw), str(broken), place=0, line=1)


class _Broken(Exception):
    """Why a document cannot be used."""


def _read(raw: bytes, key: str | None, con: duckdb.DuckDBPyConnection) -> Iterator[Records]:
    buffer = pa.py_buffer(raw)
    if not is_utf8(buffer, len(raw)):
        raise _Broken(invalid_utf8(utf8_fault(raw) or 0))
    first_byte = _FIRST.match(raw)
    if first_byte is None:
        return
    elements = None
    if first_byte[1] == (b"[" if key is None else b"{"):
        elements = find_elements(np.frombuffer(raw, np.uint8), key)
    if elements is None:
        yield _single(raw, key, con)
        return
    _check_rest(raw, elements, con)
    # everything is looked at before the first event goes out: a broken file gives none
    bad = [
        _not_objects(raw, bodies, first, elements, con)
        for first, bodies in _bodies(buffer, elements)
    ]
    for (first, bodies), reasons in zip(_bodies(buffer, elements), bad, strict=True):
        place = np.arange(first, first + len(bodies), dtype=np.int64)
        yield Records(bodies, place, place + 1, reasons)


def _single(raw: bytes, key: str | None, con: duckdb.DuckDBPyConnection) -> Records:
    """A document without an array: one event, unless there had to be one."""
    body = pa.array([raw.removeprefix(BOM).strip().decode()], pa.large_string())
    kind = find_others(con, body).get(0, "OBJECT")
    if kind is None:
        raise _Broken(not_valid(*fault(con, body[0].as_py())))
    if key is not None:
        raise _Broken(f'no array under the key "{key}"')
    if kind != "OBJECT":
        raise _Broken(not_an_object(kind))
    return Records(body, np.zeros(1, np.int64), np.ones(1, np.int64))


def _check_rest(raw: bytes, elements: Elements, con: duckdb.DuckDBPyConnection) -> None:
    """The document without its elements must be valid: what is around them is looked at here."""
    before, after = raw[: elements.opened + 1], raw[elements.closed :]
    rest = (before.removeprefix(BOM) + after).decode()
    if find_others(con, pa.array([rest], pa.large_string())).get(0, "") is None:
        message, position = fault(con, rest)
        position += len(before) - len(before.removeprefix(BOM))
        if position > elements.opened:
            position += elements.closed - elements.opened - 1
        raise _Broken(not_valid(message, position))


def _bodies(buffer: pa.Buffer, elements: Elements) -> Iterator[tuple[int, pa.Array]]:
    """The texts of the elements in chunks, each with the number of its first element."""
    first = 0
    while first < len(elements.starts):
        limit = elements.starts[first] + CHUNK_BYTES
        last = int(np.searchsorted(elements.ends, limit, side="right"))
        last = min(max(last, first + 1), first + CHUNK_ROWS)
        texts = cut(buffer, elements.starts[first:last], elements.ends[first:last])
        yield first, pc.ascii_trim(texts, _SPACE)
        first = last


def _not_objects(
    raw: bytes,
    bodies: pa.Array,
    first: int,
    elements: Elements,
    con: duckdb.DuckDBPyConnection,
) -> dict[int, str]:
    """The elements of a chunk that are not objects. Raises when one is not valid JSON."""
    reasons = {}
    for index, kind in find_others(con, bodies).items():
        if kind is None:
            start, end = (int(side[first + index]) for side in (elements.starts, elements.ends))
            message, position = fault(con, raw[start:end].decode())
            raise _Broken(not_valid(message, start + position))
        reasons[index] = not_an_object(kind)
    return reasons
