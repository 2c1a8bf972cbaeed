"""Random files, cut at random: the same events as reading them plainly, line by line."""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from meltline.codecs.json import mark_invalid
from meltline.kernels.connection import connect
from meltline.sources.files import cutting
from meltline.sources.files.listing import FoundFile
from meltline.sources.files.parts import read_plan
from meltline.sources.files.reader import FilesReader
from meltline.sources.files.settings import FilesSettings
from meltline.sources.files.source import FilesSource
from tests.unit.sources.files.memory_blobs import MemoryBlobs

Event = tuple[int, str, int, int, str, str | None]

ODD_LINES = [
    b"[" * 3000 + b"]" * 3000,
    b'{"a":' * 3000 + b"1" + b"}" * 3000,
    b'{"n":' + b"9" * 4000 + b',"e":1e999999,"m":-0.0}',
    b'{"a":1,"a":2}',
    b'{"a":"\\ud800"}',
    b'{"a":"\x00"}\x00',
    b'{"a":"\xff\xfe"}',
    b"\xc3",
    b'{"a":"' + b"x" * 50_000 + b'"}',
    '{"ключ":"значение 😀"}'.encode(),
    b'"text"',
    b"nul",
    b"{",
    b"  {}  ",
    b"\x0b\x0c",
]


def random_line(random_: random.Random) -> bytes:
    kind = random_.random()
    if kind < 0.7:
        return json.dumps({"id": random_.random(), "t": "y" * random_.randrange(200)}).encode()
    if kind < 0.8:
        return random_.choice((b"", b" ", b"\t \r"))
    if kind < 0.9:
        return random_.choice(ODD_LINES)
    return random_.randbytes(random_.randrange(40)).replace(b"\n", b"")


def read_plainly(index: int, path: Path, raw: bytes) -> list[Event]:
    events: list[Event] = []
    offset = 0
    for number, line in enumerate(raw.split(b"\n"), 1):
        body = line.removesuffix(b"\r")
        if offset == 0:
            body = body.removeprefix(b"\xef\xbb\xbf")
        if body.strip(b" \t\r"):
            bad = None
            try:
                text = body.decode()
            except UnicodeDecodeError as error:
                bad = f"invalid UTF-8 at byte {error.start} (event shown as base64)"
                text = base64.b64encode(body).decode()
            events.append((index << 40 | offset, str(path), number, offset, text, bad))
        offset += len(line) + 1
    return events


def flatten(tables: list[pa.Table]) -> list[Event]:
    return [
        (row["ord"], *row["meta"].values(), row["body"], row["bad"])
        for table in tables
        for row in table.to_pylist()
    ]


@pytest.mark.parametrize("seed", range(6))
def test_events_do_not_depend_on_how_a_plan_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    random_ = random.Random(seed)
    contents: dict[str, bytes] = {}
    blobs = MemoryBlobs()
    for number in range(random_.randrange(1, 9)):
        lines = [random_line(random_) for _ in range(random_.randrange(150))]
        raw = random_.choice((b"\n", b"\r\n")).join(lines) + random_.choice((b"", b"\n"))
        raw = random_.choice((b"", b"", b"\xef\xbb\xbf")) + raw
        packed = random_.random() < 0.3
        path = tmp_path / f"{number}.json{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(raw) if packed else raw)
        os.utime(path, ns=(0, random_.randrange(3)))
        contents[str(path)] = raw
    monkeypatch.setattr(cutting, "SMALL", 500)
    monkeypatch.setattr(cutting, "OPEN_COST", 10)
    for number in range(4):
        settings = FilesSettings(
            paths=(f"{tmp_path}/*",), split_size=random_.choice((200, 1000, 5000, 1 << 30))
        )
        source = FilesSource(settings, clock=lambda: 1 << 62)
        plan = source.plan(None, blobs)
        assert plan is not None
        files = read_plan(plan.data, blobs)
        wanted = [e for f in files for e in read_plainly(f.index, Path(f.path), contents[f.path])]
        assert len({event[0] for event in wanted}) == len(wanted)
        splits = list(source.splits(plan, random_.randrange(1, 20), blobs))
        block_size = random_.choice((50, 999, 1 << 20))
        reader = FilesReader(settings, with_line=True, block_size=block_size)
        random_.shuffle(splits)
        tables = [table for split in splits for _, table in reader.open(split)]
        assert sorted(flatten(tables)) == wanted
        if number == 0:
            check_nothing_vanishes(tables, wanted)


def check_nothing_vanishes(tables: list[pa.Table], wanted: list[Event]) -> None:
    """The check for JSON loses no event: all good ones parse, all others tell why."""
    con = connect()
    events = sorted(flatten([mark_invalid(con, table) for table in tables]))
    con.close()
    assert [event[:5] for event in events] == [event[:5] for event in wanted]
    for *_, body, bad in events:
        try:
            good = isinstance(json.loads(body), dict) and "\\ud8" not in body
        except (ValueError, RecursionError):
            good = '{"a":{"a":' in body and body.endswith("}}")
        assert good == (bad is None), (body[:50], bad)


def test_a_plan_gives_the_same_files_in_any_order_of_listing(tmp_path: Path) -> None:
    random_ = random.Random(9)
    files = [FoundFile(f"/d/{n}", 1, random_.randrange(3)) for n in range(50)]
    source = FilesSource(FilesSettings(paths=(f"{tmp_path}/*",)))
    wanted: Any = None
    for _ in range(5):
        random_.shuffle(files)
        taken = source._take(list(files))
        wanted = wanted or taken
        assert taken == wanted
