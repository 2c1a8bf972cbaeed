"""Which snapshots follow a position, and what is said when they cannot be found."""

from __future__ import annotations

import json
from typing import Any

import pytest

from meltline.errors import PositionLost, UserError
from meltline.model.history import TableHistory
from meltline.sources.iceberg.ancestry import (
    Place,
    base_of,
    find_head,
    following,
    start_place,
)


def history(
    parents: dict[int, int | None], head: int | None, uuid: str = "u", operation: str = "append",
    **refs: int,
) -> TableHistory:
    snapshots = [{"snapshot-id": id_, "timestamp-ms": id_ * 1000, "sequence-number": id_,
                  "manifest-list": f"l{id_}", "summary": {"operation": operation},
                  **({} if parent is None else {"parent-snapshot-id": parent})}
                 for id_, parent in parents.items()]
    named: dict[str, Any] = {name: {"snapshot-id": id_, "type": "branch"}
                             for name, id_ in refs.items()}
    if head is not None:
        named["main"] = {"snapshot-id": head, "type": "branch"}
    return TableHistory(json.dumps({
        "format-version": 2, "table-uuid": uuid, "snapshots": snapshots, "refs": named,
        "schemas": [], "partition-specs": []}))


LINE = {1: None, 2: 1, 3: 2}


def ids(
    table: TableHistory, place: Place, ref: str = "main", only_adds: bool = False
) -> list[int]:
    head = find_head(table, ref, "t")
    return [s.snapshot_id for s in following(table, head, place, "t", lambda _: only_adds)]


def test_snapshots_follow_oldest_first() -> None:
    assert ids(history(LINE, 3), Place("u", 1)) == [2, 3]
    assert ids(history(LINE, 3), Place("u", 3)) == []


def test_from_the_beginning_the_first_snapshot_counts() -> None:
    assert ids(history(LINE, 3), Place("u")) == [1, 2, 3]
    assert ids(history({}, None), Place("u")) == []


def test_history_is_the_chain_of_parents_not_the_order_in_time() -> None:
    assert ids(history({**LINE, 4: 1}, 4), Place("u", 1)) == [4]


def test_a_branch_has_a_history_of_its_own() -> None:
    table = history({**LINE, 4: 2}, 3, audit=4)
    assert ids(table, Place("u", 1), "audit") == [2, 4]


def test_snapshots_that_expired_in_between_become_one_change() -> None:
    table = history({1: None, 4: 3, 5: 4}, 5, keep=1)
    place = Place("u", 1)
    assert ids(table, place) == [4, 5]
    assert [base_of(table, table.snapshots[id_], place) for id_ in (4, 5)] == [1, 4]


def test_a_rollback_is_noticed_although_what_was_before_has_expired() -> None:
    table = history({4: 3, 5: 4, 6: 5}, 5)
    with pytest.raises(PositionLost, match="rolled back"):
        ids(table, Place("u", 6))


def test_an_append_is_known_without_its_expired_parent() -> None:
    table, place = history({3: 2, 4: 3}, 4), Place("u", 2)
    assert ids(table, place, only_adds=True) == [3, 4]
    assert base_of(table, table.snapshots[3], place) == 2


def test_compaction_is_known_without_its_expired_parent() -> None:
    assert ids(history({3: 2}, 3, operation="replace"), Place("u", 2)) == [3]


@pytest.mark.parametrize(("table", "only_adds"), [
    (history({3: 2}, 3), False),
    (history({3: 2}, 3, operation="overwrite"), True),
    (history({3: 2}, 3, operation="delete"), True),
    (history({4: 3}, 4), True),
    (history({4: 3}, 4, operation="replace"), True),
], ids=["adds and more", "overwrite", "delete", "grandparent", "compaction of a grandparent"])
def test_anything_else_after_an_expired_position_is_lost(
    table: TableHistory, only_adds: bool
) -> None:
    with pytest.raises(PositionLost, match="has expired"):
        ids(table, Place("u", 2), only_adds=only_adds)


@pytest.mark.parametrize(("table", "place", "words"), [
    (history(LINE, 3, uuid="other"), Place("u", 1), "dropped and created again"),
    (history({3: 2}, 3), Place("u", 1), "has expired"),
    (history({3: 2}, 3), Place("u"), "from its beginning"),
    (history(LINE, 1), Place("u", 3), "rolled back to the older snapshot 1"),
    (history({**LINE, 4: 1}, 4), Place("u", 3), "branch was replaced"),
    (history({}, None), Place("u", 3), "no snapshot at all"),
])
def test_what_is_lost_is_named(table: TableHistory, place: Place, words: str) -> None:
    with pytest.raises(PositionLost, match=words) as raised:
        ids(table, place)
    assert "on_lost_position" in str(raised.value)


def test_an_unknown_branch_lists_those_there_are() -> None:
    with pytest.raises(UserError, match="audit, main"):
        find_head(history(LINE, 3, audit=2), "missing", "t")


@pytest.mark.parametrize(("start_from", "export", "place"), [
    (None, True, Place("u", 3, 0)),
    (None, False, Place("u", 3)),
    ("earliest", True, Place("u")),
    ("2", True, Place("u", 2, 0)),
    ("2", False, Place("u", 2)),
    ("1970-01-01T00:00:02.5Z", False, Place("u", 2)),
    ("1970-01-01T00:00:00", False, Place("u")),
])
def test_where_reading_begins(start_from: str | None, export: bool, place: Place) -> None:
    table = history(LINE, 3)
    head = find_head(table, "main", "t")
    assert start_place(table, head, start_from, export, "t") == place


def test_the_earliest_one_left_is_loaded_when_older_ones_expired() -> None:
    table = history({2: 1, 3: 2}, 3)
    head = find_head(table, "main", "t")
    assert start_place(table, head, "earliest", False, "t") == Place("u", 2, 0)
    with pytest.raises(UserError, match="expired"):
        start_place(table, head, "1970-01-01T00:00:01Z", False, "t")
    with pytest.raises(UserError, match="not in the history"):
        start_place(table, head, "9", False, "t")


def test_a_place_survives_the_ledger() -> None:
    for place in (Place("u"), Place("u", 5), Place("u", 5, 7)):
        assert Place.from_position(place.to_position()) == place
