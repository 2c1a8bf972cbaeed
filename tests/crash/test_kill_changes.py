"""kill -9 of the real process at random moments while it applies a change stream."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.catalogs import Properties
from tests.changes.combination import MODES, Combination
from tests.changes.soak import random_trials
from tests.changes.trial import Trial

SEED = 53
EPOCHS_PER_KILL = 3

# one of each delete mode; together both versions, and one and many tables
COMBINATIONS = [
    Combination("equality", 2, "day", "named"),
    Combination("position", 3, "identity", "one", composite=True),
    Combination("copy-on-write", 3, "bucket", "listed", upserts=True),
]


@pytest.mark.parametrize("combination", COMBINATIONS, ids=str)
def test_killed_at_random_moments(
    combination: Combination, tmp_path: Path, spark: SparkSession,
    make_catalog: Callable[[str], Properties],
) -> None:
    trial = Trial.make(tmp_path, make_catalog("jdbc-sqlite"), spark, combination, SEED)
    kill_again_and_again(trial, kills=1)


def test_the_kills_meet_every_mode() -> None:
    assert {combination.mode for combination in COMBINATIONS} == set(MODES)


@pytest.mark.soak
def test_soak_of_random_kills(
    tmp_path: Path, spark: SparkSession, make_catalog: Callable[[str], Properties]
) -> None:
    """`make soak` sets MELTLINE_SOAK_SECONDS; a seed that fails becomes a test above."""
    for trial, _ in random_trials("kills", tmp_path, spark, make_catalog):
        kill_again_and_again(trial, kills=5)


def kill_again_and_again(trial: Trial, kills: int) -> None:
    """Each life finds what the last one left behind, and some new epochs."""
    chance = random.Random(trial.stream.seed)
    for _ in range(kills):
        for _ in range(EPOCHS_PER_KILL):
            trial.drop_epoch()
        run = trial.lab.start_process()
        # not while Spark starts: there is nothing to break then
        run.wait_until_says("took over", "epoch published")
        time.sleep(chance.uniform(0, 5))
        run.kill()
    trial.lab.finish()
    trial.check_now()
    trial.check_letters()
    trial.check_travel()
