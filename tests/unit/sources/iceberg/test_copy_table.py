"""The state of a copy, as a plan remembers it."""

from __future__ import annotations

import json
from typing import Any

from meltline.model.history import TableHistory
from meltline.sources.iceberg.copy_table import Copy, present_state, recorded_state

NO_TABLE: Any = None


def history(*snapshots: int, **refs: int) -> TableHistory:
    return TableHistory(json.dumps({
        "format-version": 2, "table-uuid": "u", "current-schema-id": 3,
        "snapshots": [{"snapshot-id": id_, "timestamp-ms": id_, "manifest-list": ""}
                      for id_ in snapshots],
        "refs": {name: {"snapshot-id": id_, "type": "branch"} for name, id_ in refs.items()},
        "schemas": [{"schema-id": 2, "type": "struct", "fields": []},
                    {"schema-id": 3, "type": "struct", "fields": []}], "partition-specs": []}))


COPY = Copy(NO_TABLE)


def test_a_plan_remembers_the_state() -> None:
    assert present_state(COPY, history(1, 2, main=2)).record() == {"snapshot": 2, "schema": 3}
    assert present_state(COPY, history()).record() == {"snapshot": None, "schema": 3}


def test_a_branch_that_is_not_there_yet_begins_at_main() -> None:
    audit = Copy(NO_TABLE, branch="audit")
    assert present_state(audit, history(1, 2, main=2)).record()["snapshot"] == 2
    assert present_state(audit, history(1, 2, main=2, audit=1)).record()["snapshot"] == 1


def test_the_remembered_state_is_read_whatever_came_later() -> None:
    now = history(1, 2, main=2)
    assert recorded_state(COPY, now, {"snapshot": 1, "schema": 2}).record() == {
        "snapshot": 1, "schema": 2}
    assert recorded_state(COPY, now, {"snapshot": None, "schema": 2}).snapshot is None


def test_a_remembered_state_that_expired_is_the_present_one() -> None:
    assert recorded_state(COPY, history(2, main=2), {"snapshot": 1, "schema": 1}).record() == {
        "snapshot": 2, "schema": 3}
