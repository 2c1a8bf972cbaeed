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
from meltline.sources.files.cutting import cut_parts
from meltline.sources.files.listing import FoundFile
from meltline.sources.files.parts import Part, read_plan, write_split
from meltline.sources.files.reader import FilesReader, _connect
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
def test_events_do_not_depend_on_how_a_plan_is_cut(tmp_path: Path, seed: int) -> None:
    random_ = random.Random(seed)
    contents: dict[str, bytes] = {}
    for number in range(random_.randrange(1, 9)):
        lines = [random_line(random_) for _ in range(random_.randrange(150))]
        raw = random_.choice((b"\n", b"\r\n")).join(lines) + random_.choice((b"", b"\n"))
        raw = random_.choice((b"", b"", b"\xef\xbb\xbf")) + raw
        packed = random_.random() < 0.3
        path = tmp_path / f"{number}.json{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(raw) if packed else raw)
        os.utime(path, ns=(0, random_.randrange(3)))
        contents[str(path)] = raw
    settings = FilesSettings(paths=(f"{tmp_path}/*",))
    source = FilesSource(settings, clock=lambda: 1 << 62)
    plan = source.plan(None, MemoryBlobs())
    assert plan is not None
    parts = read_plan(plan.data, None)
    wanted = [e for p in parts for e in read_plainly(p.index, Path(p.path), contents[p.path])]
    assert len({event[0] for event in wanted}) == len(wanted)
    for _ in range(6):
        monkey = cut_anywhere(parts, random_, source)
        reader = FilesReader(
            settings, with_line=True, block_size=random_.choice((50, 999, 1 << 20))
        )
        found = flatten([t for group in monkey for _, t in reader.open(write_split(group, 0))])
        assert found == wanted
    splits = source.splits(plan, random_.randrange(1, 9))
    assert flatten([t for s in splits for _, t in source.reader().open(s)]) == wanted
    check_nothing_vanishes([t for s in splits for _, t in source.reader().open(s)], wanted)


def cut_anywhere(
    parts: list[Part], random_: random.Random, source: FilesSource
) -> list[list[Part]]:
    """Far smaller pieces than a real plan has."""
    pieces: list[Part] = []
    for part in parts:
        if not source._can_cut(part) or part.size < 2:
            pieces.append(part)
            continue
        inner = {random_.randrange(1, part.size) for _ in range(random_.randrange(6))}
        cuts = [0, *sorted(inner), part.size]
        pieces += [
            Part(part.index, part.path, part.size, part.mtime_ns, start, end)
            for start, end in zip(cuts, cuts[1:], strict=False)
        ]
    return cut_parts(pieces, parallelism=5, split_size=1, can_cut=lambda _: False)


def check_nothing_vanishes(tables: list[pa.Table], wanted: list[Event]) -> None:
    """After the check for JSON there are as many events, all good ones parse, all others tell why."""
    con = _connect()
    events = flatten([mark_invalid(con, table) for table in tables])
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
