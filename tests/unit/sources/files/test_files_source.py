from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from meltline.engine.protocols import Source
from meltline.errors import UserError
from meltline.model.plan import Plan, Position
from meltline.sources.files.parts import read_plan
from meltline.sources.files.settings import CsvSettings, FilesSettings
from meltline.sources.files.source import FilesSource
from tests.unit.sources.files.memory_blobs import MemoryBlobs

NOW = 1_700_000_000_000_000_000
SECOND = 1_000_000_000


def put(path: Path, text: str, age: float = 60) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    mtime = NOW - int(age * SECOND)
    os.utime(path, ns=(mtime, mtime))


def source(folder: Path, **settings: Any) -> FilesSource:
    return FilesSource(FilesSettings(paths=(f"{folder}/**/*.json",), **settings), clock=lambda: NOW)


def names(plan: Plan, blobs: MemoryBlobs) -> list[str]:
    return [Path(part.path).name for part in read_plan(plan.data, blobs)]


def plans(source: Source, blobs: MemoryBlobs, after: Position | None = None) -> Iterator[Plan]:
    """All plans there are, each written down and read again as the ledger does it."""
    while plan := source.plan(after, blobs):
        yield plan
        assert Plan.from_json(plan.to_json()).data == plan.data
        after = Position.from_json(plan.end.to_json())


def test_nothing_there_is_no_plan(tmp_path: Path) -> None:
    blobs = MemoryBlobs()
    assert source(tmp_path / "not yet").plan(None, blobs) is None
    assert source(tmp_path / "not yet").lag(None, blobs) == 0


def test_files_come_in_the_order_of_their_last_change(tmp_path: Path) -> None:
    blobs = MemoryBlobs()
    for name, age in (("c", 10), ("b", 20), ("a", 20), ("d", 30)):
        put(tmp_path / f"{name}.json", "{}", age)
    plan = source(tmp_path).plan(None, blobs)
    assert plan is not None
    assert names(plan, blobs) == ["d.json", "a.json", "b.json", "c.json"]
    assert plan.waiting == 0
    assert plan.summary == {
        "files": "4",
        "bytes": "8",
        "first": f"{tmp_path}/d.json",
        "last": f"{tmp_path}/c.json",
        "names": json.dumps([f"{tmp_path}/{name}.json" for name in "dabc"]),
    }


def test_an_epoch_has_limits_but_always_a_file(tmp_path: Path) -> None:
    blobs = MemoryBlobs()
    for number, size in enumerate((5, 5, 100, 1, 1, 1)):
        put(tmp_path / f"{number}.json", "x" * size, 60 - number)
    found = list(plans(source(tmp_path, max_bytes_per_epoch=10, max_files_per_epoch=2), blobs))
    assert [names(plan, blobs) for plan in found] == [
        ["0.json", "1.json"],
        ["2.json"],
        ["3.json", "4.json"],
        ["5.json"],
    ]
    assert [plan.waiting > 0 for plan in found] == [True, True, True, False]


def test_files_that_arrive_later_and_files_too_young(tmp_path: Path) -> None:
    blobs = MemoryBlobs()
    put(tmp_path / "a.json", "{}")
    put(tmp_path / "young.json", "{}", 1)
    files = source(tmp_path, settle_time=timedelta(seconds=5))
    first = files.plan(None, blobs)
    assert first is not None
    assert names(first, blobs) == ["a.json"]
    assert files.plan(first.end, blobs) is None
    put(tmp_path / "sub" / "older.json", "{}", 1000)
    assert files.lag(first.end, blobs) == 1
    second = files.plan(first.end, blobs)
    assert second is not None
    assert names(second, blobs) == ["older.json"]
    put(tmp_path / "young.json", "{}", 6)
    third = files.plan(second.end, blobs)
    assert third is not None
    assert names(third, blobs) == ["young.json"]
    assert files.lag(None, blobs) == 3


@pytest.mark.parametrize(("text", "age"), [("{} {}", 60), ("[]", 50)])
def test_a_rewritten_file_is_a_new_one_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, age: int
) -> None:
    blobs = MemoryBlobs()
    put(tmp_path / "a.json", "{}")
    put(tmp_path / "b.json", "{}")
    first = source(tmp_path).plan(None, blobs)
    assert first is not None
    assert first.data["rewritten"] == []
    put(tmp_path / "b.json", text, age)
    put(tmp_path / "c.json", "{}", 1000)
    second = source(tmp_path).plan(first.end, blobs)
    assert second is not None
    assert names(second, blobs) == ["c.json", "b.json"]
    assert second.data["rewritten"] == [1]
    (record,) = caplog.records
    assert (record.__dict__["files"], record.__dict__["first"]) == (1, f"{tmp_path}/b.json")


def test_ten_thousand_files_in_several_epochs(tmp_path: Path) -> None:
    blobs = MemoryBlobs()
    for number in range(10_000):
        path = tmp_path / f"{number % 10}" / f"{number:05}.json"
        if number < 10:
            path.parent.mkdir()
        path.write_bytes(b"{}")
        os.utime(path, ns=(NOW, NOW - (20_000 - number) * SECOND))
    found: list[Plan] = []
    position: Position | None = None
    for limit in (1, 300, 3000, 7000):
        # another driver each time: nothing but the position and the blobs is kept
        plan = source(tmp_path, max_files_per_epoch=limit).plan(position, blobs)
        assert plan is not None
        assert len(plan.to_json()) < 64 << 10
        found.append(plan)
        position = Position.from_json(plan.end.to_json())
    assert [plan.summary["files"] for plan in found] == ["1", "300", "3000", "6699"]
    assert ["names" in plan.summary for plan in found] == [True, False, False, False]
    read = [name for plan in found for name in names(plan, blobs)]
    assert read == [f"{number:05}.json" for number in range(10_000)]
    assert source(tmp_path).plan(position, blobs) is None


def test_a_recorded_plan_is_cut_the_same_after_a_restart(tmp_path: Path) -> None:
    blobs = MemoryBlobs()
    for number in range(1500):
        put(tmp_path / f"{number:04}.json", "{}" * number)
    first = source(tmp_path)
    plan = first.plan(None, blobs)
    assert plan is not None
    assert "address" in plan.data
    splits = first.splits(plan, 3, blobs)
    assert len(splits) > 1
    settings = FilesSettings(paths=("/elsewhere/*",))
    restarted = FilesSource(settings)
    assert restarted.splits(Plan.from_json(plan.to_json()), 3, blobs) == splits


def test_only_plain_lines_and_parquet_are_cut(tmp_path: Path) -> None:
    blobs = MemoryBlobs()
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(20 << 20)
    put(tmp_path / "a.json.gz", "")
    with (tmp_path / "a.json.gz").open("wb") as file:
        file.truncate(20 << 20)
    for codec, pattern, count in (
        ("ndjson", "a.json", 3),
        ("ndjson", "*.gz", 1),
        ("json", "a.json", 1),
        ("csv", "a.json", 1),
        ("parquet", "a.json", 3),
    ):
        settings = FilesSettings(paths=(f"{tmp_path}/{pattern}",), codec=codec)  # type: ignore[arg-type]
        files = FilesSource(settings, clock=lambda: 1 << 62)
        plan = files.plan(None, blobs)
        assert plan is not None
        assert len(files.splits(plan, 4, blobs)) == count, (codec, pattern)


def test_forgetting_may_be_repeated(tmp_path: Path) -> None:
    blobs = MemoryBlobs()
    put(tmp_path / "a.json", "{}")
    files = source(tmp_path)
    plan = files.plan(None, blobs)
    assert plan is not None
    files.forget(plan.end)
    files.forget(plan.end)
    assert (tmp_path / "a.json").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"paths": ()},
        {"codec": "xml"},
        {"compression": "bzip2"},
        {"missing_files": "maybe"},
        {"json_key": "k", "codec": "ndjson"},
        {"max_files_per_epoch": 0},
        {"max_files_per_epoch": 1 << 23},
        {"split_size": 0},
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        FilesSettings(**{"paths": ("/x",), **wrong})


@pytest.mark.parametrize(
    "wrong",
    [
        {"delimiter": ",,"},
        {"delimiter": "é"},
        {"quote_character": ","},
        {"quote_character": "\n"},
        {"header": ()},
        {"header": ("a", "a")},
    ],
)
def test_csv_settings_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        CsvSettings(**wrong)


def test_settings_do_not_show_secrets() -> None:
    settings = FilesSettings(paths=("/x",), storage={"s3.secret-access-key": "hush"})
    assert "hush" not in repr(settings)
