from __future__ import annotations

import gzip
import json
import logging
import os
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from meltline.engine.protocols import SplitReader
from meltline.errors import Retryable, RunError
from meltline.model.event import Shape
from meltline.model.plan import Plan, Split
from meltline.sources.files.opening import PlannedBytes
from meltline.sources.files.parts import Part, write_split
from meltline.sources.files.reader import FilesReader
from meltline.sources.files.settings import CsvSettings, FilesSettings
from meltline.sources.files.source import FilesSource
from meltline.sources.files.storage import Storage
from tests.unit.sources.files.memory_blobs import MemoryBlobs

BLOBS = MemoryBlobs()
METADATA = {"file": "VARCHAR", "line": "BIGINT", "offset": "BIGINT"}


def source(*patterns: object, **settings: Any) -> FilesSource:
    paths = tuple(map(str, patterns))
    return FilesSource(FilesSettings(paths=paths, **settings), clock=lambda: 1 << 62)


def planned(files: FilesSource) -> Plan:
    plan = files.plan(None, BLOBS)
    assert plan is not None
    return plan


def read(reader: SplitReader, splits: list[Split]) -> list[dict[str, Any]]:
    """All events; the tables are what the contract says they are."""
    rows: list[dict[str, Any]] = []
    for split in splits:
        for shape, table in reader.open(split):
            assert table.column_names == [shape.content, "meta", "ord", "bad"]
            assert shape.metadata == METADATA
            table.validate(full=True)
            rows += table.to_pylist()
    return rows


def read_all(files: FilesSource) -> list[dict[str, Any]]:
    return read(files.reader(), list(files.splits(planned(files), 1, BLOBS)))


def test_events_of_lines(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"a":1}\n\n{"a":"\xff"}\n')
    assert read_all(source(tmp_path / "*")) == [
        {
            "body": '{"a":1}',
            "meta": {"file": f"{tmp_path}/a.json", "line": 1, "offset": 0},
            "ord": 0,
            "bad": None,
        },
        {
            "body": "eyJhIjoi/yJ9",
            "meta": {"file": f"{tmp_path}/a.json", "line": 3, "offset": 9},
            "ord": 9,
            "bad": "invalid UTF-8 at byte 6 (event shown as base64)",
        },
    ]


def test_places_are_the_number_of_the_file_and_then_within(tmp_path: Path) -> None:
    for number, name in enumerate(("b", "a")):
        (tmp_path / name).write_text("{}\n{}\n")
        os.utime(tmp_path / name, ns=(0, number))
    rows = read_all(source(tmp_path / "*"))
    assert [row["ord"] for row in rows] == [0, 3, 1 << 40, (1 << 40) + 3]
    assert [Path(row["meta"]["file"]).name for row in rows] == ["b", "b", "a", "a"]


def test_other_codecs(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"k":[{"n":1.0},2]}')
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"n;m\n1;\n2\n"))
    pq.write_table(pa.table({"n": [1, None]}), tmp_path / "a.parquet")
    csv = {"codec": "csv", "csv": CsvSettings(delimiter=";")}
    for pattern, settings, wanted in (
        ("*.json", {"codec": "json", "json_key": "k"}, ['{"n":1.0}', "2"]),
        ("*.csv.gz", csv, ['{"n":"1","m":null}', "2"]),
        ("*.parquet", {"codec": "parquet"}, [{"n": 1}, {"n": None}]),
    ):
        rows = read_all(source(tmp_path / pattern, **settings))
        assert [row.get("body", row.get("row")) for row in rows] == wanted
        assert [row["meta"]["line"] for row in rows] == [1, 2]
        assert [row["meta"]["offset"] for row in rows] == [None, None]
        assert [row["ord"] for row in rows] == [0, 1]
        assert [row["bad"] is None for row in rows] == [True, pattern == "*.parquet"]


def test_shapes(tmp_path: Path) -> None:
    assert source("/x").reader().shape() == Shape("json", METADATA)
    for number, table in enumerate(
        (pa.table({"n": [1]}), pa.table({"n": [2]}), pa.table({"n": ["3"], "m": [[1.5]]}))
    ):
        pq.write_table(table, tmp_path / f"{number}")
        os.utime(tmp_path / f"{number}", ns=(0, number))
    files = source(tmp_path / "*", codec="parquet")
    assert files.reader().shape() == Shape("typed", METADATA)
    chunks = [c for s in files.splits(planned(files), 1, BLOBS) for c in files.reader().open(s)]
    assert [(dict(shape.fields), table.num_rows) for shape, table in chunks] == [
        ({"n": "BIGINT"}, 2),
        ({"n": "VARCHAR", "m": "DOUBLE[]"}, 1),
    ]


def test_chunks_are_of_a_good_size(tmp_path: Path) -> None:
    for number in range(500):
        (tmp_path / f"{number}.json").write_text("{}\n")
    (tmp_path / "many.txt").write_text("1\n" * 200_000)
    (tmp_path / "big.txt").write_text(("x" * 999_999 + "\n") * 80)
    sizes = {}
    for pattern in ("*.json", "many.txt", "big.txt"):
        files = source(tmp_path / pattern, split_size=1 << 30)
        (split,) = files.splits(planned(files), 1, BLOBS)
        sizes[pattern] = [table.num_rows for _, table in files.reader().open(split)]
    assert sizes["*.json"] == [500]
    assert sum(sizes["many.txt"]) == 200_000
    assert max(sizes["many.txt"]) == 65_536
    assert sum(sizes["big.txt"]) == 80
    assert 20 <= max(sizes["big.txt"]) <= 33


def test_line_numbers_of_a_range_only_when_asked_for(tmp_path: Path) -> None:
    lines = [json.dumps({"n": n}) if n % 3 else "" for n in range(900)]
    path = tmp_path / "a.json"
    path.write_text("\n".join(lines))
    size, mtime = path.stat().st_size, path.stat().st_mtime_ns
    ranges = [(0, size // 3), (size // 3, size // 2), (size // 2, size)]
    splits = [write_split([Part(5, str(path), size, mtime, *span)], 0) for span in ranges]
    settings = FilesSettings(paths=("/x",))
    wanted = [number for number, line in enumerate(lines, 1) if line]
    lazy, exact = FilesReader(settings), FilesReader(settings, with_line=True, block_size=100)
    assert [row["meta"]["line"] for row in read(exact, splits)] == wanted
    rows = [read(lazy, [split]) for split in splits]
    known = [row["meta"]["line"] for row in rows[0]]
    assert known == wanted[: len(known)]
    assert {row["meta"]["line"] for row in rows[1] + rows[2]} == {None}
    some = [row["ord"] for row in rows[2]][::-7]
    found = lazy.line_numbers(splits[2], some)
    assert found == wanted[-1 : -1 - len(rows[2]) : -7]


def test_line_numbers_of_compressed_files_and_of_records(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"\n{}\n\n[]\n"))
    files = source(tmp_path / "*")
    (split,) = files.splits(planned(files), 1, BLOBS)
    assert files.reader().line_numbers(split, [1, 5]) == [2, 4]
    assert FilesReader(FilesSettings(("/x",), codec="csv")).line_numbers(split, [0, 7]) == [1, 8]


def test_a_reader_travels(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    settings = FilesSettings(paths=(f"{tmp_path}/*",))
    files = FilesSource(settings, with_line=True, clock=lambda: 1 << 62)
    reader = pickle.loads(pickle.dumps(files.reader()))
    assert reader == files.reader() == FilesReader(settings, with_line=True)
    assert len(read(reader, list(files.splits(planned(files), 1, BLOBS)))) == 1


CHANGES: dict[str, Any] = {
    "gone": lambda path: path.unlink(),
    "longer": lambda path: path.write_text("{}\n{}\n"),
    "written again": lambda path: os.utime(path, ns=(0, 5)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_file_that_is_not_as_planned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, change: Any
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("{}\n")
    files = source(tmp_path / "*")
    splits = list(files.splits(planned(files), 1, BLOBS))
    change(tmp_path / "b")
    with pytest.raises(RunError, match=f"{tmp_path}/b (is gone|has changed)") as error:
        read(files.reader(), splits)
    assert "missing_files: skip" in (error.value.hint or "")
    with pytest.raises(RunError):
        files.reader().line_numbers(splits[0], [1 << 40])
    reader = FilesReader(FilesSettings(paths=("/x",), missing_files="skip"))
    with caplog.at_level(logging.WARNING):
        rows = read(reader, splits)
    assert [Path(row["meta"]["file"]).name for row in rows] == ["a", "c"]
    assert reader.skipped_files == 1
    assert caplog.records[-1].__dict__["file"] == f"{tmp_path}/b"


def test_a_file_that_shrinks_while_it_is_read() -> None:
    part = Part(0, "/data/a.json", 10, 0, 0, 10)
    stream = PlannedBytes(pa.BufferReader(b"12345"), part)
    assert stream.read(5) == b"12345"
    with pytest.raises(RunError, match="became shorter"):
        stream.read(5)
    longer = PlannedBytes(pa.BufferReader(b"1234567890xxx"), part)
    assert longer.read() == b"1234567890"


@pytest.mark.parametrize(
    ("name", "content", "codec"),
    [
        # without the time of day: tests have the same name whenever they are collected
        ("a.json.gz", gzip.compress(b'{"a":1}\n' * 1000, mtime=0)[:-10], "ndjson"),
        ("a.json.gz", b'{"a":1}\n', "ndjson"),
        ("a.json.zst", b'{"a":1}\n', "json"),
        ("a.csv.snappy", b"a,b\n1,2\n", "csv"),
        ("a.parquet", b"PAR1", "parquet"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, content: bytes, codec: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RunError, match=f"{tmp_path}/{name}: .*(corrupt|Parquet)") as error:
        read_all(source(tmp_path / "*", codec=codec))
    assert not isinstance(error.value, Retryable)


def test_trouble_with_reading_may_be_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Storage, path: str) -> pa.NativeFile:
        raise OSError("AWS Error NETWORK_CONNECTION")

    (tmp_path / "a.json").write_text("{}")
    monkeypatch.setattr(Storage, "open", fail)
    with pytest.raises(Retryable, match=r"a\.json: AWS Error"):
        read_all(source(tmp_path / "*"))


def test_many_small_files_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bucket").mkdir()
    for number in range(50):
        (tmp_path / "bucket" / f"{number:02}.json").write_text(f'{{"n":{number}}}\n' * number)
        os.utime(tmp_path / "bucket" / f"{number:02}.json", ns=(0, number * 10_000_000))
    store = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    monkeypatch.setattr(Storage, "_remote", lambda self, scheme, netloc: store)
    files = source("s3://bucket/*.json")
    plan = planned(files)
    rows = read(files.reader(), list(files.splits(plan, 1, BLOBS)))
    assert [json.loads(row["body"])["n"] for row in rows] == [
        n for n in range(50) for _ in range(n)
    ]
    # what a listing says of the time of an object may have digits that the object does not show
    os.utime(tmp_path / "bucket" / "07.json", ns=(0, 900_000_000))
    assert len(read(files.reader(), list(files.splits(plan, 1, BLOBS)))) == len(rows)
    os.utime(tmp_path / "bucket" / "07.json", ns=(0, 9_000_000_000))
    with pytest.raises(RunError, match=r"s3://bucket/07\.json has changed"):
        read(files.reader(), list(files.splits(plan, 1, BLOBS)))
