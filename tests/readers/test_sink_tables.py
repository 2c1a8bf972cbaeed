"""What our sink writes, read by engines that are neither ours nor Java.

One change stream goes into twelve tables: each delete mode, v2 and v3, with and without
partitions. Every reader must see the dictionary's rows, now and at the snapshot of each epoch.
The one exception is pyiceberg 0.12, which refuses tables with equality deletes; tables of the
modes `position` and `copy-on-write` it always reads.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.catalogs import Properties
from tests.changes.combination import MODES, VERSIONS, Combination
from tests.changes.trial import FILES, Trial
from tests.lab import Lab
from tests.readers.readers import CannotRead, Read
from tests.rows import differences

SEED = 61
EPOCHS = 3
NAMESPACE = "read"
COMBINATIONS = [Combination(mode, version, partition)
                for mode, version, partition in product(MODES, VERSIONS, ("none", "identity"))]
READERS = ("duckdb", "iceberg-rust", "pyiceberg")


def table_of(combination: Combination) -> str:
    return str(combination).replace("-", "_")


@pytest.fixture(scope="module")
def trial(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession,
    make_catalog: Callable[[str], Properties],
) -> Trial:
    """The stream, once through a pipeline with a sink for each table."""
    catalog = make_catalog("jdbc-sqlite")
    # iceberg-rust takes no bare path
    catalog["warehouse"] = f"file://{catalog['warehouse']}"
    sinks = []
    for combination in COMBINATIONS:
        sink = combination.sink(NAMESPACE)
        sinks.append({**sink, "table_identifier": f"{NAMESPACE}.{table_of(combination)}"})
    lab = Lab(tmp_path_factory.mktemp("readers"), catalog, spark, sinks=sinks,
              source={"max_files_per_epoch": FILES})
    trial = Trial(lab, COMBINATIONS[0].stream(SEED), COMBINATIONS[0], NAMESPACE)
    for _ in range(EPOCHS):
        trial.drop_epoch()
        lab.run()
    return trial


@pytest.mark.parametrize("combination", COMBINATIONS, ids=str)
def test_every_reader_sees_the_dictionary(
    trial: Trial, readers: dict[str, Read], combination: Combination
) -> None:
    table = table_of(combination)
    wanted = list(trial.stream.tables["orders"].values())
    metadata = trial.lab.metadata_file(trial.table(table))
    assert not differences(trial.lab.rows(trial.table(table)), wanted), "Spark"
    for name in READERS:
        if name == "pyiceberg" and combination.mode == "equality":
            with pytest.raises(CannotRead, match="equality deletes"):
                readers[name](metadata, None)
        else:
            wrong = differences(readers[name](metadata, None), wanted)
            assert not wrong, f"{name}: {wrong}"
            check_travel(trial, readers[name], table, metadata)


def check_travel(trial: Trial, read: Read, table: str, metadata: Path) -> None:
    snapshots = trial.epoch_snapshots(table)
    assert sorted(snapshots) == list(range(1, EPOCHS + 1))
    for number, snapshot in snapshots.items():
        then = trial.stream.history[number - 1]["orders"].values()
        wrong = differences(read(metadata, snapshot), then)
        assert not wrong, f"epoch {number}: {wrong}"
