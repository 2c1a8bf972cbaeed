"""Files rewritten by copy-on-write: what the shortcuts find is what there is."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from meltline.kernels.changed_rows import Rows
from meltline.sources.iceberg.settings import TableSettings
from meltline.sources.iceberg.shortcuts import Shortcuts
from meltline.sources.iceberg.source import IcebergSource
from meltline.sources.iceberg.units import Limits
from meltline.testing import meet_here
from tests.catalogs import Properties
from tests.differential.histories import KEYS, History, Kind
from tests.differential.loading import check_load
from tests.differential.replay import Row, apply, plain, read_plans, rows_at
from tests.warehouse import Warehouse

KINDS = [Kind(version, "copy-on-write", partition, nested=False)
         for version in (2, 3) for partition in ("none", "region")]
SPEC_CHANGED = Kind(3, "copy-on-write", "changed", nested=False)
STEPS = 10


class Rewrites(History):
    """Only what rewrites files."""

    def step(self) -> None:
        steps = [self.update, self.update, self.nothing, self.delete, self.move, self.rename,
                 self.merge, self.compact]
        self.random.choice(steps)()

    def rename(self) -> None:
        """Rows that get another key."""
        low = self.random.randrange(KEYS)
        self.run(f"UPDATE {{t}} SET id = id + {KEYS} WHERE id = {low}")


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each shortcut gave rows."""
    count: Counter[str] = Counter()
    for name in ("_replaced", "_updated"):
        original = getattr(Shortcuts, name)

        def counted(
            self: Shortcuts, *args: Sequence[Any], name: str = name, original: Any = original
        ) -> Iterator[Rows]:
            for rows in original(self, *args):
                count[name] += rows.table.num_rows
                yield rows

        monkeypatch.setattr(Shortcuts, name, counted)
    return count


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_rows_that_changed_in_rewritten_files(
    warehouse: Warehouse, kind: Kind, used: Counter[str]
) -> None:
    check_all(write(warehouse, kind, seed=KINDS.index(kind) + 100))
    assert used["_updated" if kind.version == 3 else "_replaced"]


@pytest.mark.parametrize("seed", [1, 2])
def test_rows_carried_over_into_files_of_another_partition_spec(
    warehouse: Warehouse, seed: int
) -> None:
    """Nothing of them changed, whatever their sequence numbers and neighbours say."""
    history = write(warehouse, SPEC_CHANGED, seed, steps=4)
    history.run("ALTER TABLE {t} DROP PARTITION FIELD region")
    history.run("ALTER TABLE {t} ADD PARTITION FIELD bucket(2, id)")
    history.run(f"INSERT INTO {{t}} ({history.names()}) VALUES "
                f"{history.values([2 * KEYS, 2 * KEYS + 1, 2 * KEYS + 2])}")
    history.run(f"UPDATE {{t}} SET note = 'new' WHERE id % 5 = 0 OR id > {2 * KEYS}")
    history.run(f"DELETE FROM {{t}} WHERE id % 7 = 0 OR id = {2 * KEYS}")
    check_all(history)


def test_rewritten_files_on_s3(
    spark: SparkSession, make_catalog: Callable[[str], Properties], used: Counter[str],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are fetched, and the copies do not stay."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    warehouse = Warehouse(spark, make_catalog("jdbc-postgres-s3"))
    history = write(warehouse, KINDS[1], seed=7)
    check_all(history)
    assert used["_replaced"]
    history.insert_doubles()
    assert check_load(warehouse, history.identifier, "id")
    assert list(tmp_path.iterdir()) == []


def write(warehouse: Warehouse, kind: Kind, seed: int, steps: int = STEPS) -> History:
    history = Rewrites(warehouse, kind, seed)
    history.run(f"INSERT INTO {{t}} ({history.names()}) VALUES {history.values(list(range(KEYS)))}")
    for _ in range(steps):
        history.step()
    return history


def check_all(history: History) -> None:
    expected: dict[int, dict[str, Row]] = {}
    big = Limits(split_size=1, group_rows=1)
    for limits, before in ((Limits(), False), (Limits(), True), (big, False), (big, True)):
        settings = TableSettings(history.identifier, ("id",), export=False, start_from="earliest",
                                 limits=limits, update_before=before)
        check(history, settings, expected)


def check(
    history: History, settings: TableSettings, expected: dict[int, dict[str, Row]]
) -> None:
    """`expected` keeps what Spark said of a snapshot."""
    warehouse = history.warehouse
    source = IcebergSource(lambda: warehouse.catalog.load(history.identifier), settings, meet_here)
    state: dict[str, Row] = {}
    for plan, events in read_plans(source, None, 3):
        before = [event for event in events if operation(event) == "UPDATE_BEFORE"]
        after = [event for event in events if operation(event) == "UPDATE_AFTER"]
        assert len(before) == (len(after) if settings.update_before else 0)
        for event in before:
            assert plain(event["row"]) == plain(state[event["meta"]["document_id"]])
        apply(state, [event for event in events if event not in before])
        if plan.data["kind"] == "change":
            snapshot = plan.data["snapshot"]
            if snapshot not in expected:
                expected[snapshot] = {str(row["id"]): plain(row) for row in rows_at(
                    warehouse, history.identifier, snapshot)}
            assert {key: plain(row) for key, row in state.items()} == expected[snapshot], (
                "\n".join(history.statements))


def operation(event: Row) -> str:
    return str(event["meta"]["iceberg_operation"])
