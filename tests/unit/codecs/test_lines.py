from __future__ import annotations

import base64
import io
import random

import pytest

from meltline.codecs.lines import LineReader, count_lines
from meltline.codecs.text import SHOWN

Line = tuple[int, int | None, str, str | None]


def read(raw: bytes, start: int = 0, end: int = 1 << 62, **options: int | None) -> list[Line]:
    """Offset, line number, body and reason of every line that starts in a range."""
    stream = io.BytesIO(raw)
    stream.seek(max(start - 1, 0))
    options.setdefault("block_size", 64)
    lines: list[Line] = []
    for records in LineReader(stream, start=start, end=end, **options):  # type: ignore[arg-type]
        records.content.validate(full=True)
        numbers = [None] * len(records) if records.line is None else records.line.tolist()
        bodies = records.content.to_pylist()
        reasons = [records.bad.get(index) for index in range(len(records))]
        lines += zip(records.place.tolist(), numbers, bodies, reasons, strict=True)
    return lines


def read_plainly(raw: bytes, max_line_size: int = 64 << 20) -> list[Line]:
    """The same, line by line: what it is all measured against."""
    lines: list[Line] = []
    offset = 0
    for number, line in enumerate(raw.split(b"\n"), 1):
        body = line.removesuffix(b"\r")
        if offset == 0:
            body = body.removeprefix(b"\xef\xbb\xbf")
        if len(line) > max_line_size:
            reason = f"line is longer than {max_line_size} bytes"
            lines.append((offset, number, body.decode(errors="strict"), reason))
        elif body.strip(b" \t\r"):
            try:
                lines.append((offset, number, body.decode(), None))
            except UnicodeDecodeError as error:
                reason = f"invalid UTF-8 at byte {error.start} (event shown as base64)"
                lines.append((offset, number, base64.b64encode(body).decode(), reason))
        offset += len(line) + 1
    return lines


CASES = {
    "empty": b"",
    "only newlines": b"\n\n\n",
    "no newline at the end": b'{"a":1}\n{"a":2}',
    "newline at the end": b'{"a":1}\n{"a":2}\n',
    "windows": b'{"a":1}\r\n{"a":2}\r\n\r\n{"a":3}\r',
    "several returns": b'{"a":1}\r\r\n\r\r\n',
    "blank lines": b'\n  \n\t\r\n{"a":1}\n \t \n {"a":2} \n   ',
    "byte order mark": b'\xef\xbb\xbf{"a":1}\n\xef\xbb\xbf{"a":2}\n',
    "only a byte order mark": b"\xef\xbb\xbf",
    "byte order mark and blank": b"\xef\xbb\xbf\r\n{}",
    "other white space is text": b"\x0b\n\x0c\n\xc2\xa0\n\xe2\x80\xa8\n",
    "NUL": b'{"a":"\x00"}\n\x00\n\x00\x00',
    "not ASCII": "{'ä':'€'}\n{'😀':1}\n".encode(),
    "invalid UTF-8": b'{"a":1}\n{"a":"\xff"}\n\xc3\n\xa9\n{"a":2}\n\xed\xa0\x80\n\xf0\x9f\x98',
    "long line": b'{"a":"' + b"x" * 1000 + b'"}\n{}\n',
    "very short lines": b"1\n" * 500,
}


@pytest.mark.parametrize("block_size", [1, 3, 64, 4096])
@pytest.mark.parametrize("raw", CASES.values(), ids=CASES.keys())
def test_lines_are_the_same_however_the_file_is_read(raw: bytes, block_size: int) -> None:
    wanted = read_plainly(raw)
    assert read(raw, block_size=block_size) == wanted
    for cut in range(1, len(raw) + 1) if len(raw) < 80 else (1, 500, len(raw) - 1):
        parts = read(raw, 0, cut, block_size=block_size)
        parts += read(raw, cut, block_size=block_size, first_line=None)
        assert [(at, body, why) for at, _, body, why in parts] == [
            (at, body, why) for at, _, body, why in wanted
        ], cut


@pytest.mark.parametrize("block_size", [1, 7, 4096])
def test_a_line_beyond_the_limit_is_one_bad_event(block_size: int) -> None:
    raw = b"12345\n123456\r\n1234567\n" + b" " * 8 + b"\n12345"
    lines = read(raw, max_line_size=6, block_size=block_size)
    assert lines == [
        (0, 1, "12345", None),
        (6, 2, "123456", "line is longer than 6 bytes"),
        (14, 3, "1234567", "line is longer than 6 bytes"),
        (22, 4, " " * 8, "line is longer than 6 bytes"),
        (31, 5, "12345", None),
    ]


@pytest.mark.parametrize("block_size", [1 << 16, 8 << 20])
def test_only_the_beginning_of_a_huge_line_is_kept(block_size: int) -> None:
    huge = "é".encode() * (2 << 20)
    raw = b"{}\n" + b"x" + huge + b"\n{}\n" + b"\xff" * (2 << 20)
    lines = read(raw, max_line_size=1 << 20, block_size=block_size)
    assert [(line[0], line[1], line[3]) for line in lines] == [
        (0, 1, None),
        (3, 2, "line is longer than 1mb"),
        (5 + len(huge), 3, None),
        (8 + len(huge), 4, "line is longer than 1mb"),
    ]
    # a character that the limit cuts in two is left out
    assert lines[1][2] == "x" + "é" * (SHOWN // 2 - 1)
    assert lines[3][2] == base64.b64encode(b"\xff" * SHOWN).decode()


def test_a_huge_line_belongs_to_the_range_where_it_starts() -> None:
    raw = b"{}\n" + b"x" * (3 << 20) + b"\n{}\n"
    options = {"max_line_size": 1 << 20, "block_size": 1 << 16}
    ranges = [(0, 1 << 20), (1 << 20, 2 << 20), (2 << 20, len(raw))]
    assert [[line[0] for line in read(raw, *span, **options)] for span in ranges] == [
        [0, 3],
        [],
        [4 + (3 << 20)],
    ]


def test_a_multi_byte_character_across_blocks_is_not_invalid() -> None:
    raw = "\n".join(["äöü€😀" * 5] * 50).encode()
    for block_size in range(1, 40):
        assert [line[3] for line in read(raw, block_size=block_size)] == [None] * 50


def random_file(random_: random.Random) -> bytes:
    lines = []
    for _ in range(random_.randrange(40)):
        kind = random_.random()
        if kind < 0.6:
            line = b'{"a":"%s"}' % (b"x" * random_.randrange(30))
        elif kind < 0.8:
            line = bytes(random_.choices(b" \t\r", k=random_.randrange(4)))
        else:
            line = bytes(random_.choices(b"\x00\xc3\xa9\xff \r{}", k=random_.randrange(20)))
        lines.append(line + random_.choice((b"", b"\r")))
    start = random_.choice((b"", b"\xef\xbb\xbf"))
    return start + b"\n".join(lines) + random_.choice((b"", b"\n"))


def test_random_files_in_random_ranges() -> None:
    random_ = random.Random(7)
    for _ in range(400):
        raw = random_file(random_)
        cuts = sorted(
            {0, *(random_.randrange(1, len(raw) + 2) for _ in range(random_.randrange(6)))}
        )
        found: list[Line] = []
        for start, end in zip(cuts, [*cuts[1:], 1 << 62], strict=True):
            first = 1 if start == 0 else raw.count(b"\n", 0, start - 1) + 2
            found += read(
                raw, start, end, block_size=random_.choice((1, 5, 30, 500)), first_line=first
            )
        assert found == read_plainly(raw), (raw, cuts)


def test_counting_lines() -> None:
    raw = b"a\nb\n\nc\n" * 3
    offsets = list(range(len(raw) + 3))
    wanted = [raw[:offset].count(b"\n") for offset in offsets]
    assert count_lines(io.BytesIO(raw), offsets) == wanted
    assert count_lines(io.BytesIO(raw), []) == []
