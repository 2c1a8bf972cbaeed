"""Equality deletes on partitioned tables, by Iceberg's Java API: replaying the events gives the
table at every snapshot, as Spark reads it.

Deletes of one partition and of the whole table, by several sets of columns at once, over three
partition specs, and in the same commit as rows of the same keys, which they must not hit.
"""

from __future__ import annotations

import os
import time

import pytest

from tests.differential.replay import WAYS, check_replay
from tests.differential.streamed import KEY, StreamedHistory
from tests.warehouse import Warehouse

MODES = ("copy-on-write", "merge-on-read")


def live_and_check(warehouse: Warehouse, version: int, mode: str, seed: int) -> None:
    history = StreamedHistory(warehouse, version, mode, seed)
    history.live()
    try:
        assert check_replay(warehouse, history.identifier, KEY, WAYS)
    except AssertionError as error:
        raise AssertionError("\n".join(history.told)) from error


@pytest.mark.parametrize(("version", "mode", "seed"), [
    (2, "copy-on-write", 1), (3, "merge-on-read", 3)])
def test_every_snapshot_of_a_partitioned_table(
    warehouse: Warehouse, version: int, mode: str, seed: int
) -> None:
    live_and_check(warehouse, version, mode, seed)


@pytest.mark.soak
def test_soak_of_equality_deletes(warehouse: Warehouse) -> None:
    deadline = time.monotonic() + float(os.environ.get("MELTLINE_SOAK_SECONDS", "600"))
    seed = int(os.environ.get("MELTLINE_SOAK_SEED", str(time.time_ns() % 1_000_000)))
    while time.monotonic() < deadline:
        version, mode = (2, 3)[seed % 2], MODES[seed // 2 % 2]
        print(f"equality deletes v{version} {mode} seed {seed}", flush=True)  # noqa: T201
        live_and_check(warehouse, version, mode, seed)
        seed += 1
