"""How the files of a snapshot become tasks."""

from __future__ import annotations

from dataclasses import replace

from meltline.model.content import FileChange
from meltline.sources.iceberg.units import Limits, Unit, cut_units, pack
from tests.unit.sources.iceberg.states import data, delete

LIMITS = Limits(split_size=2500, group_rows=100, open_cost=0)
US, EU = (1, ("us",)), (1, ("eu",))


def added(path: str, group: tuple[int, tuple[str, ...]] = US, row_id: int | None = None
          ) -> FileChange:
    return FileChange(data(path, group=group, first_row_id=row_id), None, ())


def removed(path: str, group: tuple[int, tuple[str, ...]] = US, row_id: int | None = None
            ) -> FileChange:
    return FileChange(data(path, group=group, first_row_id=row_id), (), None)


def modes(changes: list[FileChange], lineage: bool = False, limits: Limits = LIMITS
          ) -> list[tuple[str, list[str]]]:
    return [(unit.mode, [one.file.path for one in unit.changes])
            for unit in cut_units(changes, lineage, limits)]


def test_inserts_alone_cancel_nothing() -> None:
    assert modes([added("a"), added("b")]) == [("rows", ["a"]), ("rows", ["b"])]


def test_removed_and_added_files_of_a_partition_stay_together() -> None:
    assert modes([removed("a"), removed("x", EU), added("b")]) == [
        ("net", ["a", "b"]), ("rows", ["x"])]


def test_touched_files_stay_with_added_ones() -> None:
    touched = FileChange(data("a", group=US), (), (delete("position", "d", 2),))
    assert modes([touched, added("b")]) == [("net", ["a", "b"])]
    assert modes([touched]) == [("rows", ["a"])]


def test_row_ids_serve_when_every_file_has_them() -> None:
    assert modes([removed("a", row_id=0), added("b", row_id=9)], True) == [("lineage", ["a", "b"])]
    assert modes([removed("a"), added("b", row_id=9)], True) == [("net", ["a", "b"])]


def test_row_ids_of_too_many_rows_are_not_held_in_one_task() -> None:
    group = [removed("a", row_id=0), added("b", row_id=9)]
    assert modes(group, True, replace(LIMITS, group_rows=10)) == [("lineage", ["a", "b"])]
    few = replace(LIMITS, group_rows=9)
    assert modes(group, True, few) == [("hash", ["a"]), ("hash", ["b"])]
    (unit,) = cut_units(group, True, few, keyed=False)
    assert unit.mode == "lineage", "where row ids are the keys, nothing else tells rows apart"


def test_a_group_too_big_for_one_task_is_taken_apart() -> None:
    big = replace(LIMITS, group_rows=10)
    assert modes([removed("a"), added("b")], limits=big) == [("hash", ["a"]), ("hash", ["b"])]


def unit(size: int) -> Unit:
    return Unit("rows", (FileChange(replace(data("a"), size=size), None, ()),))


def test_little_work_is_one_task() -> None:
    assert len(pack([unit(600), unit(600)], 8, LIMITS)) == 1
    assert pack([], 8, LIMITS) == []


def test_much_work_is_spread_evenly() -> None:
    tasks = pack([unit(1000 + i) for i in range(100)], 4, LIMITS)
    weights = [sum(one.weight for one in task) for task in tasks]
    assert len(tasks) == 44  # as many for every core
    assert sum(weights) == sum(1000 + i for i in range(100))
    assert max(weights) - min(weights) <= 1100


def test_many_small_files_are_much_work() -> None:
    slow = replace(LIMITS, open_cost=100)
    assert [len(pack([unit(1)] * count, 2, slow)) for count in (12, 13, 51)] == [1, 2, 4]


def test_there_are_at_least_as_many_tasks_as_cores() -> None:
    assert len(pack([unit(1000)] * 10, 8, LIMITS)) == 8
    assert len(pack([unit(9000)], 8, LIMITS)) == 1
