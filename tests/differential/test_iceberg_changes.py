"""Replaying the events of any history gives the table at every snapshot."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import pytest

from meltline.sources.iceberg.settings import TableSettings
from meltline.sources.iceberg.source import IcebergSource
from meltline.sources.iceberg.units import Limits
from tests.differential.histories import History, Kind
from tests.differential.replay import WAYS, Row, apply, plain, read_plans, rows_at
from tests.warehouse import Warehouse

KINDS = [
    Kind(1, "copy-on-write"),
    Kind(2, "copy-on-write", "region"),
    Kind(2, "copy-on-write", nested=False),
    Kind(2, "merge-on-read"),
    Kind(2, "merge-on-read", "changed"),
    Kind(3, "copy-on-write", "region", nested=False),
    Kind(3, "merge-on-read", "bucket"),
]
FORMATS = [Kind(2, "merge-on-read", "none", "orc"), Kind(2, "merge-on-read", "none", "avro")]
ALL_KINDS = [Kind(version, mode, partition, format_, nested) for version in (1, 2, 3)
             for mode in ("copy-on-write", "merge-on-read")
             for partition in ("none", "region", "changed", "bucket")
             for format_, nested in (("parquet", True), ("parquet", False), ("orc", True),
                                     ("avro", True))
             if version > 1 or mode == "copy-on-write"]


def write(warehouse: Warehouse, kind: Kind, seed: int, steps: int) -> History:
    history = History(warehouse, kind, seed)
    for number in range(steps):
        history.step()
        if kind.partition == "changed" and number == steps // 2:
            history.change_spec()
    return history


def check(warehouse: Warehouse, history: History, ways: Sequence[Limits]) -> int:
    """Events of every way give the table at every snapshot; returns how many there were."""
    expected: dict[int, dict[str, Row]] = {}
    count = 0
    for limits in ways:
        settings = TableSettings(history.identifier, ("id",), export=False, start_from="earliest",
                                 limits=limits)
        source = IcebergSource(lambda: warehouse.catalog.load(history.identifier), settings)
        state: dict[str, Row] = {}
        for plan, events in read_plans(source, None, 3):
            apply(state, events)
            count += len(events)
            if plan.data["kind"] != "change":
                assert events == []
                continue
            snapshot = plan.data["snapshot"]
            if snapshot not in expected:
                expected[snapshot] = {str(row["id"]): plain(row) for row in rows_at(
                    warehouse, history.identifier, snapshot)}
            shown = {key: plain(row) for key, row in state.items()}
            assert shown == expected[snapshot], f"snapshot {snapshot}"
    return count


def explain(history: History) -> str:
    return f"{history.kind} seed {history.seed}:\n" + ";\n".join(history.statements)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_snapshot_of_a_random_history(warehouse: Warehouse, kind: Kind) -> None:
    history = write(warehouse, kind, seed=KINDS.index(kind) + 1, steps=12)
    try:
        assert check(warehouse, history, WAYS)
    except AssertionError as error:
        raise AssertionError(explain(history)) from error


@pytest.mark.parametrize("kind", FORMATS, ids=str)
def test_other_file_formats_give_the_same(warehouse: Warehouse, kind: Kind) -> None:
    history = write(warehouse, kind, seed=7, steps=6)
    try:
        assert check(warehouse, history, WAYS)
    except AssertionError as error:
        raise AssertionError(explain(history)) from error


@pytest.mark.soak
def test_histories_of_every_kind(warehouse: Warehouse) -> None:
    deadline = time.monotonic() + float(os.environ.get("MELTLINE_SOAK_SECONDS", "600"))
    seed = int(os.environ.get("MELTLINE_SOAK_SEED", str(time.time_ns() % 1_000_000)))
    rounds = 0
    while time.monotonic() < deadline:
        kind = ALL_KINDS[seed % len(ALL_KINDS)]
        print(f"changes {kind} seed {seed}", flush=True)  # noqa: T201
        history = write(warehouse, kind, seed, steps=15)
        try:
            check(warehouse, history, WAYS)
        except AssertionError as error:
            raise AssertionError(explain(history)) from error
        seed += 1
        rounds += 1
    assert rounds
