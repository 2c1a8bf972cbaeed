from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from meltline.codecs.json import mark_invalid
from meltline.codecs.json_document import read_document
from meltline.codecs.json_scan import find_elements


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        yield connection


DEEP = '{"a":' + "[" * 200_000 + "]" * 200_000 + "}"

BODIES: list[tuple[str, str | None]] = [
    ('{"a":1}', None),
    ("  {}  ", None),
    ('{"a":1,"a":2}', None),
    ('{"a":1e999,"b":' + "9" * 5000 + "}", None),
    ('{"a":"' + "x" * (10 << 20) + '"}', None),
    (DEEP, None),
    (DEEP[:-1], "not valid JSON: unexpected end of data at byte 400005"),
    ("[1]", "not a JSON object but an array"),
    ('"x"', "not a JSON object but a string"),
    ("12", "not a JSON object but a number"),
    ("-1.5e3", "not a JSON object but a number"),
    ("true", "not a JSON object but a boolean"),
    ("null", "not a JSON object but null"),
    ("", "not valid JSON: expecting value at byte 0"),
    ('{"é" 1}', "not valid JSON: expecting ':' delimiter at byte 6"),
    ('{"a":1', "not valid JSON: expecting ',' delimiter at byte 6"),
    ('{"a":1}{"b":2}', "not valid JSON: extra data at byte 7"),
    ('{"a":"\x00"}', "not valid JSON: invalid control character at byte 6"),
    ('{"a":"\\ud800"}', "not valid JSON: no low surrogate in string at byte 12"),
    ("\x00", "not valid JSON: expecting value at byte 0"),
    ("9" * 10_000 + "x", "not valid JSON: unexpected content after document at byte 10000"),
]


def events(bodies: list[str], bad: list[str | None]) -> pa.Table:
    return pa.table(
        {
            "body": pa.array(bodies, pa.large_string()),
            "meta": pa.array([{"file": "f"}] * len(bodies)),
            "ord": pa.array(range(len(bodies)), pa.int64()),
            "bad": pa.array(bad, pa.string()),
        }
    )


def test_events_that_are_not_objects_are_marked(con: duckdb.DuckDBPyConnection) -> None:
    table = events([body for body, _ in BODIES], [None] * len(BODIES))
    marked = mark_invalid(con, table)
    assert marked.column("bad").to_pylist() == [reason for _, reason in BODIES]
    assert marked.drop_columns(["bad"]).equals(table.drop_columns(["bad"]))
    assert marked.schema.equals(table.schema)


def test_a_reason_that_is_there_stays(con: duckdb.DuckDBPyConnection) -> None:
    marked = mark_invalid(con, events(["AAA=", "x", "{}"], ["invalid UTF-8", None, None]))
    assert marked.column("bad").to_pylist()[0::2] == ["invalid UTF-8", None]
    assert marked.column("bad")[1].as_py().startswith("not valid JSON: ")


def test_a_table_in_pieces_or_without_rows(con: duckdb.DuckDBPyConnection) -> None:
    one = events(["[]", "{}"], [None, None])
    pieces = pa.concat_tables([one, one.slice(1)])
    wanted = "not a JSON object but an array"
    assert mark_invalid(con, pieces).column("bad").to_pylist() == [wanted, None, None]
    assert mark_invalid(con, one.slice(0, 0)).num_rows == 0


def test_few_events_are_marked_as_many_are(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_ = random.Random(13)
    bodies = [body for body, _ in BODIES if len(body) < 10_000]
    bodies += [
        '{"a":NaN}',
        '{"a":-Infinity}',
        '{"a":1,}',
        '{"a":"\\ud83d\\ude00"}',
        "\ufeff{}",
        '{"a":"\x7f"}',
    ]
    for _ in range(1000):
        text = list(json.dumps({"k": random_value(random_, 2), "l": -1.5e3}))
        for _ in range(random_.randrange(3)):
            text[random_.randrange(len(text))] = random_.choice('"\\[]{},:\x00 1.eE+-uN')
        bodies.append("".join(text))
    table = events(bodies, [None] * len(bodies))
    monkeypatch.setattr("meltline.codecs.json._FEW_BYTES", 1 << 30)
    few = mark_invalid(con, table)
    monkeypatch.setattr("meltline.codecs.json._FEW_BYTES", 0)
    many = mark_invalid(con, table)
    assert few.equals(many)
    assert 100 < few.column("bad").null_count < 900


def test_what_is_left_unmarked_can_be_queried(con: duckdb.DuckDBPyConnection) -> None:
    marked = mark_invalid(con, events([body for body, _ in BODIES], [None] * len(BODIES)))
    good = marked.filter(pa.compute.is_null(marked.column("bad")))
    con.register("good", good)
    found = con.sql("SELECT count(body::JSON->>'a'), count(*) FROM good").fetchall()
    con.unregister("good")
    assert found == [(5, 6)]


def read(
    con: duckdb.DuckDBPyConnection, raw: bytes, key: str | None
) -> list[tuple[int, str, str | None]]:
    rows = []
    for records in read_document(io.BytesIO(raw), key, con):
        records.content.validate(full=True)
        for index, body in enumerate(records.content.to_pylist()):
            rows.append((int(records.place[index]), body, records.bad.get(index)))
    return rows


NUMBER = "not a JSON object but a number"
GOOD: list[tuple[bytes, str | None, list[tuple[str, str | None]]]] = [
    (b"", None, []),
    (b"\xef\xbb\xbf", None, []),
    (b"\xef\xbb\xbf \n", None, []),
    (b"[]", None, []),
    (b" [ \n ] ", None, []),
    (b'[{"a":1.10}, {"b": 1e400}\n]', None, [('{"a":1.10}', None), ('{"b": 1e400}', None)]),
    (b'\xef\xbb\xbf[{"a":1}]', None, [('{"a":1}', None)]),
    (b'{"a":[1,2]}', None, [('{"a":[1,2]}', None)]),
    (
        b'[{"a":1},2,{"b":[3,{"c":"]"}]}]',
        None,
        [('{"a":1}', None), ("2", NUMBER), ('{"b":[3,{"c":"]"}]}', None)],
    ),
    (b'[{"a":"\\"]},[{\\\\"},{}]', None, [('{"a":"\\"]},[{\\\\"}', None), ("{}", None)]),
    (b'[{"a":1},]', None, [('{"a":1}', None)]),
    (b'{"Records":[{"a":1},{"b":2}],"n":3}', "Records", [('{"a":1}', None), ('{"b":2}', None)]),
    (b'{"m":{"Records":[7]},"x":[[8]],"Records" : [ {"a":1} ]}', "Records", [('{"a":1}', None)]),
    (b'{"k":[{"a":1}],"k":[{"b":2}]}', "k", [('{"b":2}', None)]),
    (b'{"a\\"b":[{"a":1}]}', 'a"b', [('{"a":1}', None)]),
    ('{"é":[{"ü":"€"}]}'.encode(), "é", [('{"ü":"€"}', None)]),
]


@pytest.mark.parametrize(("raw", "key", "wanted"), GOOD)
def test_documents(
    con: duckdb.DuckDBPyConnection,
    raw: bytes,
    key: str | None,
    wanted: list[tuple[str, str | None]],
) -> None:
    assert read(con, raw, key) == [(place, *row) for place, row in enumerate(wanted)]


BROKEN: list[tuple[bytes, str | None, str]] = [
    (b"[1", None, "not valid JSON: expecting ',' delimiter at byte 2"),
    (b'[{"a":1},{"b" 2}]', None, "not valid JSON: expecting ':' delimiter at byte 14"),
    (b'[{"a":1},\n  {"b" 2}]', None, "not valid JSON: expecting ':' delimiter at byte 17"),
    (b"[{}] x", None, "not valid JSON: extra data at byte 5"),
    (b'\xef\xbb\xbf[{"a":1}] x', None, "not valid JSON: extra data at byte 13"),
    (b"[{},,{}]", None, "not valid JSON: expecting value at byte 4"),
    (b"[{]}", None, "not valid JSON: "),
    (b"[{}}", None, "not valid JSON: "),
    (b'["', None, "not valid JSON: "),
    (b"[1][2]", None, "not valid JSON: "),
    (b'{"a":1}{"a":2}', None, "not valid JSON: extra data at byte 7"),
    (b"12", None, "not a JSON object but a number"),
    (b"\xff", None, "invalid UTF-8 at byte 0 (event shown as base64)"),
    (b"[{}]", "k", 'no array under the key "k"'),
    (b'{"k":{}}', "k", 'no array under the key "k"'),
    (b'{"j":[]}', "k", 'no array under the key "k"'),
    (b'{"k":[{}]', "k", "not valid JSON: "),
    (b'{"k":[{}],}x', "k", "not valid JSON: "),
]


@pytest.mark.parametrize(("raw", "key", "reason"), BROKEN)
def test_a_broken_document_is_one_bad_event(
    con: duckdb.DuckDBPyConnection, raw: bytes, key: str | None, reason: str
) -> None:
    ((place, body, found),) = read(con, raw, key)
    assert place == 0
    assert found is not None
    assert found.startswith(reason)
    assert body == ("/w==" if raw == b"\xff" else raw.decode("utf-8-sig"))


def test_elements_come_in_chunks(con: duckdb.DuckDBPyConnection) -> None:
    raw = json.dumps([{"id": number} for number in range(70_000)]).encode()
    chunks = list(read_document(io.BytesIO(raw), None, con))
    assert [len(chunk) for chunk in chunks] == [65_536, 4_464]
    assert chunks[1].content[0].as_py() == '{"id": 65536}'
    assert chunks[1].place[0] == 65_536


def random_value(random_: random.Random, depth: int) -> Any:
    kind = random_.randrange(7 if depth else 5)
    if kind < 2:
        return "".join(random_.choices('a"\\[]{},:é\n', k=random_.randrange(8)))
    if kind < 5:
        return random_.choice((None, True, 1.5, -7, 10**30))
    values = [random_value(random_, depth - 1) for _ in range(random_.randrange(4))]
    return values if kind == 5 else {str(value): value for value in values}


def test_random_documents_are_cut_where_a_parser_would(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_ = random.Random(11)
    for _ in range(300):
        monkeypatch.setattr(
            "meltline.codecs.json_scan.BLOCK", random_.choice((1, 2, 3, 16, 1 << 20))
        )
        wanted = [random_value(random_, 3) for _ in range(random_.randrange(5))]
        indent = random_.choice((None, 1))
        ascii_ = random_.random() < 0.5
        top = {"x": random_value(random_, 2), "k": wanted, "y": [1]}
        for document, key in ((wanted, None), (top, "k")):
            raw = json.dumps(document, indent=indent, ensure_ascii=ascii_).encode()
            elements = find_elements(np.frombuffer(raw, np.uint8), key)
            assert elements is not None
            cuts = zip(elements.starts.tolist(), elements.ends.tolist(), strict=True)
            assert [json.loads(raw[start:end]) for start, end in cuts] == wanted, raw


def test_random_damage_never_crashes(con: duckdb.DuckDBPyConnection) -> None:
    random_ = random.Random(12)
    for _ in range(200):
        raw = bytearray(json.dumps([random_value(random_, 3) for _ in range(3)]).encode())
        for _ in range(random_.randrange(1, 4)):
            raw[random_.randrange(len(raw))] = random_.choice(b'"\\[]{},:\x00\xff 1')
        rows = read(con, bytes(raw), random_.choice((None, "k")))
        assert all(reason is not None or json.loads(body) is not None for _, body, reason in rows)
