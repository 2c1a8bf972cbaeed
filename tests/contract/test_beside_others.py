"""Changes beside others who compact, expire and append to the same table again and again."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.catalogs import Properties
from tests.changes.combination import Combination
from tests.changes.trial import Trial
from tests.changes.values import Json
from tests.rows import differences
from tests.waiting import wait_for_end, wait_until

SEED = 71
EPOCHS = 3
FOREIGN = 10**17

COMBINATIONS = [
    Combination("equality", 2, "identity"),
    Combination("position", 2, "none"),
    Combination("position", 3, "identity"),
    Combination("copy-on-write", 3, "identity"),
]


@dataclass
class Others:
    """Three jobs in a thread, one after the other without a rest. `did` counts what succeeded."""

    trial: Trial
    did: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    rows: list[Json] = field(default_factory=list)
    rounds: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def work(self) -> None:
        jobs = {"compaction": self._compact, "append": self._append, "expiry": self._expire}
        while not self._stop.is_set():
            for name, job in jobs.items():
                try:
                    job()
                except Exception as error:  # noqa: BLE001  # theirs to retry, not ours
                    self.lost.append(f"{name}: {str(error).splitlines()[0]}")
                else:
                    self.did[name] += 1
            self.rounds += 1

    def wait_for_a_whole_round(self) -> None:
        """One that has begun may have lost already, so it is the next one."""
        wanted = self.rounds + 2
        wait_until("the others", lambda: self.rounds >= wanted or len(self.did) == 3)

    @contextmanager
    def beside(self) -> Iterator[None]:
        thread = threading.Thread(target=self.work, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            wait_for_end(thread)

    def _compact(self) -> None:
        options = "map('rewrite-all', 'true', 'max-file-group-size-bytes', '10000000')"
        self._call("rewrite_data_files", f"options => {options}")

    def _expire(self) -> None:
        self._call("expire_snapshots",
                   "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1")

    def _append(self) -> None:
        """Rows with keys that no change of ours ever names."""
        spark = self.trial.lab.spark_sql()
        row = {"id": FOREIGN + len(self.rows), "region": "north"}
        frame = spark.table(self._name).limit(0)
        values = ", ".join(f"CAST({row[name]!r} AS {kind}) AS {name}" if name in row else
                           f"CAST(NULL AS {kind}) AS {name}" for name, kind in frame.dtypes)
        spark.sql(f"INSERT INTO {self._name} SELECT {values}")
        self.rows.append({name: row.get(name) for name, _ in frame.dtypes})

    def _call(self, procedure: str, arguments: str) -> None:
        lab = self.trial.lab
        lab.spark_sql().sql(f"CALL {lab.catalog['name']}.system.{procedure}("
                            f"table => '{self.trial.table('orders')}', {arguments})")

    @property
    def _name(self) -> str:
        return f"{self.trial.lab.catalog['name']}.{self.trial.table('orders')}"


@pytest.mark.parametrize("combination", COMBINATIONS, ids=str)
def test_every_epoch_lands_beside_compaction_expiry_and_appends(
    combination: Combination, tmp_path: Path, spark: SparkSession,
    make_catalog: Callable[[str], Properties],
) -> None:
    """A run that a conflict stops tries again by itself; one that gives up fails the test."""
    trial = Trial.make(tmp_path, make_catalog("jdbc-postgres"), spark, combination, SEED)
    trial.drop_epoch()
    trial.lab.run()
    others = Others(trial)
    landed = [1]
    with others.beside():
        while len(landed) <= EPOCHS or (len(others.did) < 3 and len(landed) < 5 * EPOCHS):
            if len(landed) > EPOCHS:
                # one of them has lost every race so far, as it may on a busy machine
                others.wait_for_a_whole_round()
            trial.drop_epoch()
            landed += [result.epoch.number for result in trial.lab.run().results]
    assert landed == list(range(1, len(trial.stream.history) + 1))
    wanted = [*trial.stream.tables["orders"].values(), *others.rows]
    wrong = differences(trial.lab.rows(trial.table("orders")), wanted)
    assert not wrong, wrong
    assert set(others.did) == {"compaction", "append", "expiry"}, others.lost
