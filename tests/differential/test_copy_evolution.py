"""A copy equals its source at every snapshot, however the source's columns and spec change."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from meltline.testing import PowerCut
from tests.catalogs import Properties
from tests.copy_lab import COPY, SET_ASIDE, SOURCE, Copies, make_copies
from tests.differential.evolutions import Evolving
from tests.differential.replay import plain
from tests.warehouse import Warehouse

POINTS = ("plan", "record", "write", "publish.table", "publish", "done")
WAYS = [(2, "copy-on-write", "equality"), (2, "merge-on-read", "position"),
        (3, "merge-on-read", "copy-on-write"), (3, "copy-on-write", None),
        (2, "merge-on-read", "equality")]


def copy_history(copies: Copies, seed: int, steps: int) -> None:
    """The copy runs now and then behind the source, and its power is cut here and there."""
    version, mode, delete_mode = WAYS[seed % len(WAYS)]
    chance = random.Random(seed)
    copies.sink["delete_mode"] = delete_mode
    history = Evolving(copies.lab.warehouse, SOURCE, seed, version, mode)
    try:
        for _ in range(steps):
            history.step()
            if chance.random() < 0.3:
                with suppress(PowerCut):
                    copies.lab.run(chance.choice((None, *POINTS)))
        history.insert_one()
        copies.lab.run()
        assert copies.check() > 1
        assert rows(copies.copy, COPY) == rows(copies.lab.warehouse, SOURCE)
    except Exception as error:
        raise AssertionError(
            f"{WAYS[seed % len(WAYS)]} seed {seed}:\n" + ";\n".join(history.statements)) from error


def rows(warehouse: Warehouse, identifier: str) -> list[Any]:
    return sorted((plain({name: value for name, value in row.items()
                          if not SET_ASIDE.search(name)})
                   for row in warehouse.rows(identifier)), key=str)


@pytest.mark.parametrize("seed", range(len(WAYS)))
def test_every_snapshot_of_an_evolving_table(copies: Copies, seed: int) -> None:
    copy_history(copies, seed, steps=14)


@pytest.mark.soak
def test_tables_that_evolve_in_any_way(
    spark: SparkSession, make_catalog: Callable[[str], Properties], tmp_path: Path
) -> None:
    deadline = time.monotonic() + float(os.environ.get("MELTLINE_SOAK_SECONDS", "600"))
    seed = int(os.environ.get("MELTLINE_SOAK_SEED", str(time.time_ns() % 1_000_000)))
    while time.monotonic() < deadline:
        print(f"evolution seed {seed}", flush=True)  # noqa: T201
        folder = tmp_path / str(seed)
        folder.mkdir()
        copy_history(make_copies(spark, make_catalog, folder), seed, steps=25)
        seed += 1
