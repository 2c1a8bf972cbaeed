"""Upserts and deletes by rewriting the files that hold earlier rows, and no others."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from meltline.kernels.parquet import equality_deletes
from meltline.lake.change import Change
from meltline.lake.commit import commit_change
from tests.integration.test_commit_change import key_file
from tests.integration.test_key_lookup import (
    append,
    append_same_key,
    compact,
    create,
    delete,
    insert,
    row,
    update,
)
from tests.upserts import Upserts
from tests.warehouse import Warehouse


@pytest.fixture(params=[2, 3])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def copying(warehouse: Warehouse, version: int, partition: str = "none") -> Upserts:
    made = create(warehouse, version, partition)
    made.mode = "copy-on-write"
    return made


@pytest.mark.parametrize("partition", ["none", "identity"])
def test_epochs_of_changes(warehouse: Warehouse, version: int, partition: str) -> None:
    upserts = copying(warehouse, version, partition)
    upserts.apply([row(1), row(31), row(100)], [row(5), row(999)])
    upserts.check()
    upserts.apply([row(1, "newer"), row(7)], [row(31)])
    upserts.check()
    assert upserts.deletes() == []
    upserts.apply([], [row(id_) for id_ in range(101)])
    assert warehouse.rows("d.t") == []


def test_only_files_with_such_rows_are_rewritten(warehouse: Warehouse, version: int) -> None:
    upserts = copying(warehouse, version)
    insert(upserts, [row(id_, "old") for id_ in range(60, 90)])
    upserts.apply([row(31)])
    upserts.check()
    assert len(upserts.changes[-1].removed_data_files) == 1
    upserts.apply([], [row(999)])
    assert upserts.changes[-1].removed_data_files == []


def test_a_version_1_table(warehouse: Warehouse) -> None:
    upserts = copying(warehouse, 1)
    upserts.apply([row(1), row(100)], [row(5)])
    upserts.check()


def test_rows_keep_their_ids(warehouse: Warehouse) -> None:
    upserts = copying(warehouse, 3)

    def lineage() -> dict[int, tuple[int, int]]:
        found = warehouse.sql("SELECT id, _row_id, _last_updated_sequence_number FROM {c}.d.t")
        return {r["id"]: (r["_row_id"], r["_last_updated_sequence_number"]) for r in found}

    before = lineage()
    upserts.apply([row(1)], [row(31)])
    between = lineage()
    assert {id_: one for id_, one in between.items() if id_ != 1} == {
        id_: one for id_, one in before.items() if id_ not in (1, 31)}
    assert between[1][1] > before[1][1]
    upserts.apply([row(2)])
    after = lineage()
    assert {id_: one for id_, one in after.items() if id_ != 2} == {
        id_: one for id_, one in between.items() if id_ != 2}
    upserts.check()


def test_deletes_of_every_kind_are_applied(warehouse: Warehouse, version: int) -> None:
    upserts = copying(warehouse, version)
    warehouse.sql("DELETE FROM {c}.d.t WHERE id IN (2, 3)")
    table = upserts.table
    table.refresh()
    keys = {**json.loads(key_file(table, [4, 31])), **equality_deletes([1])}
    commit_change(table, Change(delete_files=[json.dumps(keys)]), {}, {}, lambda *_: True)
    for id_ in (2, 3, 4, 31):
        upserts.rows.pop((id_,))
    upserts.apply([row(1)], [row(32)])
    assert not any(one["content"] == 1 for one in upserts.deletes())
    # pyiceberg cannot read a table with equality deletes, though none applies any more
    upserts.check(pyiceberg=False)


@pytest.mark.parametrize("other", [append, append_same_key, delete, update, compact])
def test_changes_between_lookup_and_commit(
    warehouse: Warehouse, version: int, other: Callable[[Upserts], None]
) -> None:
    upserts = copying(warehouse, version)
    done = upserts.apply([row(1)], [row(5)], meanwhile=[lambda: other(upserts)])
    upserts.check()
    if other is not append:
        assert done.conflicts == 1


def test_an_equality_delete_of_a_row_that_only_moved(warehouse: Warehouse, version: int) -> None:
    """It is about another key than ours, but in a file that we have rewritten."""
    upserts = copying(warehouse, version)

    def delete_by_value() -> None:
        other = warehouse.table("d.t")
        commit_change(other, Change(delete_files=[key_file(other, [10])]), {}, {},
                      lambda *_: True)
        upserts.rows.pop((10,))

    done = upserts.apply([row(1)], meanwhile=[delete_by_value])
    upserts.check(pyiceberg=False)
    assert done.conflicts == 1


def test_a_writer_that_never_stops(warehouse: Warehouse, version: int) -> None:
    upserts = copying(warehouse, version)
    appends = [lambda id_=id_: insert(upserts, [row(id_, "theirs")]) for id_ in (100, 101, 102)]
    mine = [row(id_) for id_ in (*range(0, 60, 2), *range(1000, 1300))]
    done = upserts.apply(mine, meanwhile=appends)
    upserts.check()
    assert done.conflicts == 3
