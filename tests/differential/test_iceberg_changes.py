"""Replaying the events of any history gives the table at every snapshot."""

from __future__ import annotations

import os
import time

import pytest

from tests.differential.histories import History, Kind
from tests.differential.loading import check_load
from tests.differential.replay import WAYS, check_replay
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


def explain(history: History) -> str:
    return f"{history.kind} seed {history.seed}:\n" + ";\n".join(history.statements)


def check_loads(history: History) -> None:
    assert check_load(history.warehouse, history.identifier, "id") == 0
    history.insert_doubles()
    for key in ("id", "region"):
        assert check_load(history.warehouse, history.identifier, key), key


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_snapshot_of_a_random_history(warehouse: Warehouse, kind: Kind) -> None:
    history = write(warehouse, kind, seed=KINDS.index(kind) + 1, steps=10)
    try:
        assert check_replay(warehouse, history.identifier, ("id",), WAYS)
        check_loads(history)
    except AssertionError as error:
        raise AssertionError(explain(history)) from error


@pytest.mark.parametrize("kind", FORMATS, ids=str)
def test_other_file_formats_give_the_same(warehouse: Warehouse, kind: Kind) -> None:
    history = write(warehouse, kind, seed=7, steps=6)
    try:
        assert check_replay(warehouse, history.identifier, ("id",), WAYS)
        check_loads(history)
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
            check_replay(warehouse, history.identifier, ("id",), WAYS)
            check_loads(history)
        except AssertionError as error:
            raise AssertionError(explain(history)) from error
        seed += 1
        rounds += 1
    assert rounds
