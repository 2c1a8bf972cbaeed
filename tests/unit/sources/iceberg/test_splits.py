"""How many tasks a snapshot is read by, and how many buckets its rows meet in."""

from __future__ import annotations

from dataclasses import replace

from meltline.model.content import FileChange
from meltline.model.plan import Split
from meltline.model.table_view import TableView
from meltline.sources.iceberg.splits import BUCKET_ROWS, cut_splits
from meltline.sources.iceberg.units import Limits, Mode, Unit
from tests.unit.sources.iceberg.states import data, delete

SCHEMA = '{"type":"struct","fields":[{"id":1,"name":"id","required":false,"type":"long"}]}'
LIMITS = Limits(split_size=8000, open_cost=0)


def view(*identifiers: int) -> TableView:
    return TableView("t", 1, 1, 0, SCHEMA, identifiers=identifiers)


def unit(kind: str, mode: Mode = "rows", records: int = 10, size: int = 1000) -> Unit:
    file = replace(data("a"), records=records, size=size)
    change = {"added": FileChange(file, None, ()), "removed": FileChange(file, (), None),
              "touched": FileChange(file, (), (replace(delete("position", "d", 2), size=0),))}
    return Unit(mode, (change[kind],))


def cut(units: list[Unit], load: bool = False, keys: tuple[int, ...] = (1,)) -> list[Split]:
    return cut_splits(view(*keys), units, 2, LIMITS, load)


def test_inserts_are_spread_over_more_tasks_than_rows_to_look_at() -> None:
    assert len(cut([unit("added")] * 4)) == 4
    assert len(cut([unit("touched")] * 4)) == 1
    assert len(cut([unit("added")] * 4, load=True)) == 1


def test_many_inserts_meet_in_many_buckets_even_in_one_task() -> None:
    few = cut([unit("added", records=BUCKET_ROWS, size=10)])
    many = cut([unit("added", records=4 * BUCKET_ROWS + 1, size=10)])
    assert [split.data["buckets"] for split in (*few, *many)] == [1, 5]


def test_rows_meet_only_where_a_key_may_come_twice() -> None:
    assert {split.data["rounds"] for split in cut([unit("added")] * 4)} == {1}
    assert {split.data["rounds"] for split in cut([unit("added")] * 4, keys=())} == {0}
    assert {split.data["rounds"] for split in cut([unit("removed")] * 4, keys=())} == {1}
    assert {split.data["rounds"] for split in cut([unit("added")] * 4, load=True)} == {0}
    assert {split.data["rounds"] for split in cut([unit("added", "hash")] * 9)} == {3}


def test_tasks_are_counted_by_the_plan() -> None:
    splits = cut([unit("touched", size=9000)] * 4)
    assert [split.data["task"] for split in splits] == list(range(len(splits)))
    assert {split.data["tasks"] for split in splits} == {2}
