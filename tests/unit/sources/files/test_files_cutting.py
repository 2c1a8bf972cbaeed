from __future__ import annotations

import random
from itertools import groupby, pairwise

import pytest

from meltline.errors import PositionLost
from meltline.model.plan import Split
from meltline.sources.files.cutting import OPEN_COST, SMALL, cut_parts, weigh
from meltline.sources.files.listing import FoundFile
from meltline.sources.files.parts import Part, read_plan, read_split, write_plan, write_split
from tests.unit.sources.files.memory_blobs import MemoryBlobs

MIB = 1 << 20


def files(*sizes: int) -> list[Part]:
    return [Part(i, f"/data/{i}.json", size, 7, 0, size) for i, size in enumerate(sizes)]


def cut(
    parts: list[Part], parallelism: int, split_size: int = 64 * MIB, *, whole: bool = False
) -> list[list[Part]]:
    return cut_parts(
        parts, parallelism=parallelism, split_size=split_size, can_cut=lambda _: not whole
    )


@pytest.mark.parametrize(
    ("sizes", "parallelism", "groups"),
    [
        ([0], 8, 1),
        ([SMALL], 8, 1),
        ([100] * 100, 8, 1),
        ([SMALL // 4] * 4, 8, 1),
        ([SMALL + 1], 8, 2),
        ([3 * SMALL], 8, 3),
        ([8 * SMALL], 8, 8),
        ([64 * MIB] * 2, 1, 2),
        ([640 * MIB], 1, 10),
        ([640 * MIB], 16, 16),
        ([2 * MIB] * 320, 1, 10),
    ],
)
def test_the_number_of_tasks_follows_the_volume(
    sizes: list[int], parallelism: int, groups: int
) -> None:
    assert len(cut(files(*sizes), parallelism)) == groups


def test_thousands_of_tiny_files_are_work_for_several() -> None:
    groups = cut(files(*[10] * 10_000), 4)
    assert len(groups) == 4
    assert max(len(group) for group in groups) < 2600


def test_a_file_that_cannot_be_cut_stays_whole() -> None:
    parts = files(300 * MIB, MIB, 300 * MIB)
    groups = cut(parts, 2, whole=True)
    assert [part for group in groups for part in group] == parts


def test_random_plans_are_cut_without_gaps_in_order_and_in_bounds() -> None:
    random_ = random.Random(4)
    for _ in range(300):
        parts = files(
            *(random_.choice((0, 100, MIB, 70 * MIB)) for _ in range(random_.randrange(1, 30)))
        )
        parallelism, split_size = random_.randrange(1, 20), random_.choice((1 << 18, MIB, 64 * MIB))
        groups = cut(parts, parallelism, split_size)
        assert groups == cut(parts, parallelism, split_size)
        flat = [part for group in groups for part in group]
        assert [part.index for part in flat] == sorted(part.index for part in flat)
        for index, pieces in groupby(flat, lambda part: part.index):
            spans = [(piece.start, piece.end) for piece in pieces]
            assert spans[0][0] == 0
            assert spans[-1][1] == parts[index].size
            assert all(one[1] == two[0] for one, two in pairwise(spans))
        total = sum(map(weigh, parts))
        if total > SMALL:
            assert max(sum(map(weigh, group)) for group in groups) <= max(split_size, OPEN_COST)
        else:
            assert len(groups) == 1
        if total > SMALL * parallelism:
            assert len(groups) >= parallelism


def test_splits_survive_being_written() -> None:
    parts = [Part(3, "s3://b/p/a.json", 10, 5, 0, 10), Part(4, "s3://b/p/b.json", 90, 6, 30, 60)]
    split = write_split(parts, 40)
    assert split == Split(
        {"prefix": "s3://b/p/", "parts": [[3, "a.json", 10, 5], [4, "b.json", 90, 6, 30, 60]]}, 40
    )
    assert read_split(split) == parts


def test_a_short_plan_holds_its_files_and_a_long_one_says_where() -> None:
    blobs = MemoryBlobs()
    found = [FoundFile(f"/data/{n:05}.json", n, n * 2) for n in range(5000)]
    short = write_plan(found[:2], [1], blobs)
    assert short == {
        "prefix": "/data/0000",
        "files": [["0.json", 0, 0], ["1.json", 1, 2]],
        "rewritten": [1],
    }
    long = write_plan(found, [], blobs)
    assert set(long) == {"address", "sha256", "count"}
    assert [p.path for p in read_plan(long, blobs)] == [file.path for file in found]
    assert read_plan(short, blobs)[1] == Part(1, "/data/00001.json", 1, 2, 0, 1)
    blobs.held[long["address"]] += b"x"
    with pytest.raises(PositionLost, match="damaged"):
        read_plan(long, blobs)
