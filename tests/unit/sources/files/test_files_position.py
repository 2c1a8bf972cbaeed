from __future__ import annotations

import math
import random
import time
from itertools import pairwise

import numpy as np
import pytest

from meltline.errors import PositionLost
from meltline.model.plan import Position
from meltline.sources.files.digests import WIDTH, contains, contains_path, digest, from_bytes, join
from meltline.sources.files.position import (
    MAX_RECENT,
    Seen,
    SegmentStore,
    add,
    find_rewritten,
    find_unread,
)
from tests.unit.sources.files.memory_blobs import MemoryBlobs


def of(*numbers: int) -> list[bytes]:
    return [digest(f"/data/{number}.json", number, 7) for number in numbers]


def test_a_fingerprint_tells_path_size_and_time_apart() -> None:
    one = digest("/a", 1, 2)
    assert len(one) == WIDTH
    others = {digest("/a", 1, 3), digest("/a", 2, 2), digest("/b", 1, 2), digest("/a", 12, 2)}
    assert len(others) == 4
    assert one not in others
    assert digest("/a", 9, 9)[:6] == one[:6] != digest("/b", 1, 2)[:6]


def test_fingerprints_with_zeros_are_told_apart() -> None:
    raw = [bytes(12), b"a" + bytes(11), b"a" + bytes(10) + b"\x01", b"a\x00b" + bytes(9)]
    ordered = np.sort(join(raw))
    assert contains(ordered, join(raw)).all()
    assert not contains(ordered, join([b"a\x00" + b"\x01" * 10, b"b" + bytes(11)])).any()
    assert contains_path(ordered, join([b"a" + bytes(5) + b"x" * 6])).all()
    assert from_bytes(b"").tobytes() == b""


def test_a_position_survives_json() -> None:
    blobs, store = MemoryBlobs(), SegmentStore()
    seen = add(Seen(), of(*range(300)), store, blobs)
    seen = add(seen, of(*range(300, 310)), store, blobs)
    text = seen.to_position().to_json()
    assert Seen.from_position(Position.from_json(text)) == seen
    assert seen.count == 310
    assert len(seen.segments) == 1
    assert Seen.from_position(None) == Seen()
    assert len(text) < 500


@pytest.mark.parametrize(
    "data", [{}, {"recent": "?", "segments": []}, {"recent": "", "segments": [1]}]
)
def test_the_position_of_something_else_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(PositionLost):
        Seen.from_position(Position(data))


def test_what_was_read_is_known_and_nothing_else() -> None:
    random_ = random.Random(1)
    blobs, store = MemoryBlobs(), SegmentStore()
    seen, added = Seen(), 0
    while added < 5000:
        count = random_.choice((1, 2, 50, 255, 256, 257, 700))
        seen = add(seen, of(*range(added, added + count)), store, blobs)
        added += count
        assert len(seen.recent) <= MAX_RECENT * WIDTH
        counts = [segment.count for segment in seen.segments]
        assert all(before >= 2 * after for before, after in pairwise(counts))
    unread = find_unread(join(of(*range(added + 100))), seen, store, blobs)
    assert unread.tolist() == [False] * added + [True] * 100
    # a driver that starts with the recorded position sees the same
    again = find_unread(join(of(*range(added + 100))), seen, SegmentStore(), blobs)
    assert again.tolist() == unread.tolist()


def test_a_rewritten_file_is_noticed_wherever_its_fingerprint_is() -> None:
    blobs, store = MemoryBlobs(), SegmentStore()
    seen = add(Seen(), of(*range(500)), store, blobs)
    seen = add(seen, of(500, 501), store, blobs)
    wanted = join([digest("/data/3.json", 99, 7), digest("/data/501.json", 501, 8), *of(900)])
    assert find_unread(wanted, seen, store, blobs).all()
    assert find_rewritten(wanted, seen, store, blobs).tolist() == [True, True, False]


def test_segments_are_loaded_once_and_let_go() -> None:
    blobs, store = MemoryBlobs(), SegmentStore()
    seen = add(Seen(), of(*range(300)), store, blobs)
    fresh = SegmentStore()
    for _ in range(3):
        find_unread(join(of(1)), seen, fresh, blobs)
    assert blobs.reads == 1
    fresh.keep_only(())
    find_unread(join(of(1)), seen, fresh, blobs)
    assert blobs.reads == 2


def test_a_segment_that_is_gone_or_damaged_is_said() -> None:
    blobs = MemoryBlobs()
    seen = add(Seen(), of(*range(300)), SegmentStore(), blobs)
    address = seen.segments[0].address
    blobs.held[address] = blobs.held[address][:-1]
    with pytest.raises(PositionLost, match="300 fingerprints"):
        find_unread(join(of(1)), seen, SegmentStore(), blobs)
    del blobs.held[address]
    with pytest.raises(PositionLost, match="gone"):
        find_unread(join(of(1)), seen, SegmentStore(), blobs)


def test_a_million_files() -> None:
    blobs, store = MemoryBlobs(), SegmentStore()
    content = random.Random(2).randbytes(1_000_000 * WIDTH)
    all_files = from_bytes(content)
    seen = Seen()
    started = time.perf_counter()
    for start in range(0, len(content), 20_000 * WIDTH):
        seen = add(seen, [content[start : start + 20_000 * WIDTH]], store, blobs)
        store.keep_only(seen.segments)
    assert not find_unread(all_files, seen, store, blobs).any()
    assert time.perf_counter() - started < 60
    assert len(seen.segments) <= math.log2(1_000_000)
    written = sum(len(held) for held in blobs.held.values())
    assert written < len(content) * 10
    assert len(seen.to_position().to_json()) < 2000
