from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from meltline.codecs.csv import CsvReader, column_names
from meltline.codecs.csv_fields import Dialect

Row = tuple[int, Any, str | None]


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        yield connection


def read(con: duckdb.DuckDBPyConnection, raw: bytes, **options: Any) -> list[Row]:
    """Place, event (parsed when it is good) and reason of every record."""
    options.setdefault("dialect", Dialect())
    rows: list[Row] = []
    for records in CsvReader(io.BytesIO(raw), con, **options):
        records.content.validate(full=True)
        assert records.line is not None
        assert list(records.line) == [place + 1 for place in records.place]
        for index, (place, body) in enumerate(
            zip(records.place.tolist(), records.content.to_pylist(), strict=True)
        ):
            reason = records.bad.get(index)
            rows.append((place, json.loads(body) if reason is None else body, reason))
    return rows


FEW = "expected 2 fields but found 1"
MANY = "expected 2 fields but found 3"
OPEN = "a quote is opened and never closed"

CASES: list[tuple[str, bytes, dict[str, Any], list[tuple[Any, str | None]]]] = [
    ("empty", b"", {}, []),
    ("only a header", b"a,b", {}, []),
    ("only empty lines", b"\n\r\n\n", {}, []),
    ("one row", b"a,b\n1,2\n", {}, [({"a": "1", "b": "2"}, None)]),
    ("no newline at the end", b"a,b\n1,2", {}, [({"a": "1", "b": "2"}, None)]),
    ("windows lines", b"a,b\r\n1,2\r\n", {}, [({"a": "1", "b": "2"}, None)]),
    ("byte order mark", b"\xef\xbb\xbfa,b\n1,2\n", {}, [({"a": "1", "b": "2"}, None)]),
    ("empty is null", b'a,b\n,""\n', {}, [({"a": None, "b": None}, None)]),
    ("spaces are kept", b"a,b\n x , \n", {}, [({"a": " x ", "b": " "}, None)]),
    ("empty lines are skipped", b"a\n\n1\n\n2\n", {}, [({"a": "1"}, None), ({"a": "2"}, None)]),
    ("quoted newline", b'a,b\n"x\r\ny",2\n', {}, [({"a": "x\r\ny", "b": "2"}, None)]),
    ("quoted delimiter", b'a,b\n"x,y",2\n', {}, [({"a": "x,y", "b": "2"}, None)]),
    ("doubled quotes", b'a,b\n"x""y",""""\n', {}, [({"a": 'x"y', "b": '"'}, None)]),
    ("quote in a value", b'a,b\n5" pipe,2\n', {}, [({"a": '5" pipe', "b": "2"}, None)]),
    ("after the quote", b'a,b\n"x"y,"p""q"r"s"\n', {}, [({"a": "xy", "b": 'p"qr"s"'}, None)]),
    (
        "number of fields",
        b"a,b\n1\n1,2,3\n1,2\n",
        {},
        [("1", FEW), ("1,2,3", MANY), ({"a": "1", "b": "2"}, None)],
    ),
    ("header given", b"1,2\n", {"header": ("x", "y")}, [({"x": "1", "y": "2"}, None)]),
    ("header given twice", b"x,y\n1,2\n", {"header": ("x", "y")}, [({"x": "1", "y": "2"}, None)]),
    (
        "header as data",
        b"x,y\n1,2\n",
        {"header": ("x", "y"), "detect_header": False},
        [({"x": "x", "y": "y"}, None), ({"x": "1", "y": "2"}, None)],
    ),
    ("no header", b"1,2\n", {"detect_header": False}, [({"column1": "1", "column2": "2"}, None)]),
    ("names twice", b"a,a,\n1,2,3\n", {}, [({"a": "1", "a_2": "2", "column3": "3"}, None)]),
    ("odd names", b'it\'s,"a""b"\n1,2\n', {}, [({"it's": "1", 'a"b': "2"}, None)]),
    ("NUL", b"a\x00,b\n1,\x00\n", {}, [({"a\x00": "1", "b": "\x00"}, None)]),
    (
        "invalid UTF-8",
        b"a,b\nx,\xff\n1,\xc3\xa9\n",
        {},
        [("eCz/", "invalid UTF-8 at byte 2 (event shown as base64)"), ({"a": "1", "b": "é"}, None)],
    ),
    (
        "invalid UTF-8 and fields",
        b"a,b\n\xff\n",
        {},
        [("/w==", f"{FEW}; invalid UTF-8 at byte 0 (event shown as base64)")],
    ),
    (
        "quote never closed",
        b'a,b\n1,2\n3,"x\n5,6\n',
        {},
        [({"a": "1", "b": "2"}, None), ('3,"x', OPEN), ({"a": "5", "b": "6"}, None)],
    ),
    (
        "header never closed",
        b'a,"b\n1,2\n3,4\n',
        {},
        [('a,"b', f"the header cannot be read, nor anything after it: {OPEN}")],
    ),
    (
        "never closed, header given",
        b'"1,2\n3,4\n',
        {"header": ("x", "y")},
        [('"1,2', OPEN), ({"x": "3", "y": "4"}, None)],
    ),
    (
        "other dialect",
        b"a;b\n'x;''y';2\n",
        {"dialect": Dialect(";", "'")},
        [({"a": "x;'y", "b": "2"}, None)],
    ),
    (
        "special dialect",
        b"a|b\n^x|^^y^|2\n",
        {"dialect": Dialect("|", "^")},
        [({"a": "x|^y", "b": "2"}, None)],
    ),
    ("tabs", b"a\tb\n1\t2\n", {"dialect": Dialect("\t")}, [({"a": "1", "b": "2"}, None)]),
]


@pytest.mark.parametrize("block_size", [1, 7, 1 << 16])
@pytest.mark.parametrize(
    ("raw", "options", "wanted"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_reading(
    con: duckdb.DuckDBPyConnection,
    raw: bytes,
    options: dict[str, Any],
    wanted: list[tuple[Any, str | None]],
    block_size: int,
) -> None:
    rows = read(con, raw, block_size=block_size, **options)
    assert rows == [(place, *row) for place, row in enumerate(wanted)]


def test_a_record_beyond_the_limit_is_given_up_and_reading_goes_on(
    con: duckdb.DuckDBPyConnection,
) -> None:
    raw = b'a,b\n1,2\n3,"' + b"x\n" * 500 + b"4,5\n"
    rows = read(con, raw, block_size=64, max_record_size=200)
    assert rows[0] == (0, {"a": "1", "b": "2"}, None)
    assert rows[1][1:] == (
        '3,"x',
        "a record is longer than 200 bytes, or a quote in it is never closed",
    )
    assert [row[2] for row in rows[2:-1]] == [FEW] * 499
    assert rows[-1][1:] == ({"a": "4", "b": "5"}, None)


def test_a_line_beyond_the_limit_is_given_up_and_reading_goes_on(
    con: duckdb.DuckDBPyConnection,
) -> None:
    rows = read(con, b"a,b\n" + b"x" * 5000 + b"\n1,2\n", block_size=64, max_record_size=200)
    assert rows[0][2] == "a record is longer than 200 bytes, or a quote in it is never closed"
    assert rows[1:] == [(1, {"a": "1", "b": "2"}, None)]


def test_column_names_are_never_the_same() -> None:
    assert column_names(["a", "a_2", "a", "", "a"]) == ("a", "a_2", "a_3", "column4", "a_4")


def test_random_text_reads_as_the_standard_library_reads_it(
    con: duckdb.DuckDBPyConnection,
) -> None:
    random_ = random.Random(20240917)
    compared = 0
    for _ in range(400):
        text = "a,b,c\n" + "".join(
            random_.choices('xé",\n', (6, 1, 4, 6, 4), k=random_.randrange(60))
        )
        if random_.random() < 0.5:
            text = text.replace("\n", "\r\n")
        rows = read(con, text.encode(), block_size=random_.choice((5, 30, 1000)))
        if any(reason == OPEN for _, _, reason in rows):
            continue
        wanted = [row for row in csv.reader(io.StringIO(text, newline="")) if row][1:]
        assert len(rows) == len(wanted), text
        for (_, event, reason), fields in zip(rows, wanted, strict=True):
            compared += 1
            if len(fields) != 3:
                assert reason == f"expected 3 fields but found {len(fields)}", text
            else:
                assert event == dict(zip("abc", (f or None for f in fields), strict=True)), text
    assert compared > 500
