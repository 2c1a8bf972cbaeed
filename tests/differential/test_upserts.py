"""Random change streams: after every epoch the tables equal a dictionary that applied the same
events, and so does, in the end, each epoch's snapshot.

`make test` runs the combinations below, in which every delete mode meets both versions, and every
partitioning, one and many tables, both kinds of keys and of inserts, and epochs of several tasks
are there. `make soak` draws combinations and seeds at random and prints them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from meltline.engine.crash import POINTS
from meltline.testing import PowerCut
from tests.catalogs import Properties
from tests.changes.combination import (
    MODES,
    PARTITIONS,
    TABLES,
    VERSIONS,
    Combination,
)
from tests.changes.soak import random_trials
from tests.changes.trial import Trial

SEED = 47
EPOCHS = 3
CRASHES = 0.5

SLICE = [
    Combination("equality", 2, "none", "one", upserts=True),
    Combination("equality", 2, "day", "one"),
    Combination("equality", 3, "bucket", "named", composite=True),
    Combination("position", 2, "identity", "listed", upserts=True),
    Combination("position", 3, "day", "one", composite=True, wide=True),
    Combination("position", 3, "none", "named"),
    Combination("copy-on-write", 2, "bucket", "one"),
    Combination("copy-on-write", 3, "identity", "listed", composite=True, upserts=True),
]


def test_the_slice_meets_every_value() -> None:
    pairs = {(c.mode, c.version) for c in SLICE}
    assert pairs == {(mode, version) for mode in MODES for version in VERSIONS}
    assert {c.partition for c in SLICE} == set(PARTITIONS)
    assert {c.tables for c in SLICE} == set(TABLES)
    for flag in ("composite", "upserts", "wide"):
        assert {getattr(c, flag) for c in SLICE} == {True, False}


@pytest.mark.parametrize("combination", SLICE, ids=str)
def test_tables_equal_a_dictionary(
    combination: Combination, tmp_path: Path, spark: SparkSession,
    make_catalog: Callable[[str], Properties],
) -> None:
    catalog = make_catalog("jdbc-sqlite")
    run_and_compare(Trial.make(tmp_path, catalog, spark, combination, SEED), EPOCHS)


@pytest.mark.soak
def test_soak_of_random_streams(
    tmp_path: Path, spark: SparkSession, make_catalog: Callable[[str], Properties]
) -> None:
    """A combination and a seed that fail become a row of the slice."""
    for trial, chance in random_trials("changes", tmp_path, spark, make_catalog):
        run_and_compare(trial, epochs=chance.randrange(2, 9))


def run_and_compare(trial: Trial, epochs: int) -> None:
    """Half of the epochs meet a crash at a point drawn at random first."""
    chance = random.Random(trial.stream.seed)
    for _ in range(epochs):
        trial.drop_epoch()
        if chance.random() < CRASHES:
            # not every epoch gets to every point: one without dead letters has none to publish
            with suppress(PowerCut):
                trial.lab.run(crash_at=chance.choice(POINTS))
        trial.lab.run()
        trial.check_now()
    trial.check_letters()
    trial.check_travel()
