"""kill -9 in the middle of the initial load of an Iceberg table, one file per epoch."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.catalogs import Properties
from tests.change_lab import ChangeLab
from tests.rows import differences
from tests.waiting import wait_until
from tests.warehouse import Warehouse

Json = dict[str, Any]
SEED = 17
FILES = 12
ROWS = 600
TABLE = "shop.orders"
COPY = f"copy.{TABLE}"
STEPS = ("plan", "record", "write", "publish.table", "publish", "done")
"""Every crash point but that of dead letters: the rows of a load have none."""


@dataclass
class Load:
    """A table of some files, and its copy on the way."""

    lab: ChangeLab
    copy: Warehouse

    def snapshots(self) -> list[Json]:
        """Summaries of the copy's snapshots, oldest first; none as long as there is no table."""
        table = self.copy.catalog.load(COPY)
        return [] if table is None else [
            dict(one.summary) for one in list(table.ancestry())[::-1]]

    def done_files(self) -> list[int | None]:
        """How many files of the load were done after each snapshot; None: all, or it is over."""
        return [json.loads(one["meltline.position"])["files"] for one in self.snapshots()]

    def die(self, crash_at: str) -> None:
        run = self.lab.start_process(crash_at)
        assert run.wait() == -signal.SIGKILL, run.said
        self.check_progress()

    def die_after(self, files: int, seconds: float) -> None:
        """So many seconds after another `files` files are done."""
        before = len(self.snapshots())
        run = self.lab.start_process()
        wait_until(f"{files} more files", lambda: len(self.snapshots()) >= before + files
                   or run.process.poll() is not None)
        time.sleep(seconds)
        run.kill()
        self.check_progress()

    def check_progress(self) -> None:
        """No file twice, none left out: each snapshot begins where the one before it ended."""
        summaries = self.snapshots()
        load = [files for files in self.done_files() if files is not None]
        assert load == list(range(1, len(load) + 1))
        for earlier, later in pairwise(summaries):
            assert later["meltline.position-start"] == earlier["meltline.position"]


@pytest.fixture
def load(
    spark: SparkSession, warehouse: Warehouse, make_catalog: Callable[[str], Properties],
    tmp_path: Path,
) -> Load:
    copy = Warehouse(spark, make_catalog("jdbc-sqlite"))
    sink = {"catalog": {"name": copy.name, **copy.properties}, "auto_create": True,
            "table_identifier": 'copy.${getMetadata("iceberg_table_name")}',
            "operation": '${getMetadata("iceberg_operation")}', "identifier_columns": ["id"]}
    lab = ChangeLab(tmp_path, warehouse, [{"table_name": TABLE, "identifier_columns": ["id"]}],
                    [{"iceberg": sink}], source={"load_bytes_per_epoch": 1})
    warehouse.sql("CREATE NAMESPACE {c}.shop")
    warehouse.sql(f"CREATE TABLE {{c}}.{TABLE} (id BIGINT, v STRING) USING iceberg "
                  "TBLPROPERTIES ('format-version'='2', 'write.distribution-mode'='none')")
    warehouse.sql(f"INSERT INTO {{c}}.{TABLE} SELECT /*+ REPARTITION({FILES}, id) */ id, 'a' "
                  f"FROM range({ROWS})")
    return Load(lab, copy)


def change_and_finish(load: Load) -> None:
    """What the source changes meanwhile follows after the load, which stays with its snapshot."""
    load.lab.warehouse.sql(f"UPDATE {{c}}.{TABLE} SET v = 'b' WHERE id % 7 = 0")
    load.lab.warehouse.sql(f"DELETE FROM {{c}}.{TABLE} WHERE id % 11 = 0")
    run = load.lab.start_process()
    assert run.wait() == 0, run.said
    load.check_progress()
    assert load.done_files() == [*range(1, FILES), None, None, None]
    rows = [int(one["meltline.rows"]) for one in load.snapshots()]
    assert sum(rows[:FILES]) == ROWS, "each row once"
    wrong = differences(load.copy.rows(COPY), load.lab.warehouse.rows(TABLE))
    assert not wrong, wrong


def test_killed_in_the_middle_of_a_load(load: Load) -> None:
    chance = random.Random(SEED)
    load.die("publish.table:3")
    assert load.done_files() == [1, 2, 3], "published, though the ledger does not know the last"
    load.die_after(files=2, seconds=chance.uniform(0, 0.5))
    assert 5 <= len(load.done_files()) < FILES, "the second life went on where the first one ended"
    change_and_finish(load)


@pytest.mark.soak
def test_soak_of_a_load_killed_at_every_step(load: Load) -> None:
    for step in STEPS:
        load.die(f"{step}:2")
    change_and_finish(load)


@pytest.mark.soak
def test_soak_of_a_load_killed_at_random_moments(load: Load) -> None:
    """`make soak` sets MELTLINE_SOAK_SECONDS; a seed that fails becomes a test above."""
    seed = int(os.environ.get("MELTLINE_SOAK_SEED", str(time.time_ns() % 1_000_000)))
    print(f"kills of a load: seed {seed}", flush=True)  # noqa: T201
    chance = random.Random(seed)
    for _ in range(5):
        load.die_after(files=1, seconds=chance.uniform(0, 1))
    change_and_finish(load)
