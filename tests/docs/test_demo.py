"""The demo's own parts: the events it writes, and the check that must notice every difference."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from demo.check import Difference, find_difference
from demo.events import FILES, PER_FILE, read_events, write_events

SOURCE = pa.table({"id": [1, 2, 3], "item": ["tea", "cup", None]})


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_events(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(files) == FILES
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_three_events_of_each_file_are_broken(tmp_path: Path) -> None:
    write_events(tmp_path / "inbox")
    stream = read_events(tmp_path / "inbox")
    assert stream.count == FILES * PER_FILE
    assert len(stream.bad) == 3 * FILES
    assert any("coupon" in event for event in stream.good)
    assert any("coupon" not in event for event in stream.good)


@pytest.mark.parametrize(
    ("rows", "lost", "extra"),
    [
        ([0, 1, 2], 0, 0),
        ([2, 0, 1], 0, 0),
        ([0, 1], 1, 0),
        ([0, 1, 2, 2], 0, 1),
        ([0, 1, 1], 1, 1),
        ([], 3, 0),
    ],
)
def test_a_lost_or_doubled_row_is_noticed(rows: list[int], lost: int, extra: int) -> None:
    found = SOURCE.take(pa.array(rows, pa.int64()))
    difference = find_difference("shop.orders", SOURCE, found, ["id", "item"])
    assert difference == Difference("shop.orders", 3, lost, extra)
    assert difference.none == (lost == extra == 0)
