"""kill -9 of the real process, at every named step and at random moments."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from meltline.engine.crash import POINTS
from tests.catalogs import KINDS, Properties
from tests.lab import Lab
from tests.shop import ORDERS, PAID, ROUTES, Shop, check_books

SEED = 31


@pytest.fixture
def lab(
    request: pytest.FixtureRequest, tmp_path: Path, spark: SparkSession,
    make_catalog: Callable[[str], Properties],
) -> Lab:
    """On a local catalog, or on the one that the test is parametrized with."""
    kind = getattr(request, "param", "jdbc-sqlite")
    return Lab(tmp_path, make_catalog(kind), spark, sinks=[dict(ORDERS), dict(PAID)],
               extra=dict(ROUTES), source={"max_files_per_epoch": 3})


def check(lab: Lab, shop: Shop) -> None:
    check_books(shop, lab.rows("shop.orders"), lab.rows("shop.paid"),
                lab.rows("shop.dead_letters"))
    epochs = lab.epochs("shop.orders")
    assert epochs == sorted(set(epochs)), "a snapshot per table and epoch"


@pytest.mark.parametrize("lab", ["jdbc-sqlite", "rest-s3"], indirect=True)
def test_killed_at_every_step(lab: Lab) -> None:
    """Each run first mends what the last one left behind, then dies at its own step."""
    shop = Shop(SEED)
    for point in POINTS:
        for _ in range(2):
            lab.drop_file(shop.events(200))
        done = lab.run_process(crash_at=point, check=False)
        assert done.returncode == -signal.SIGKILL, f"{point}: {done.stderr}"
    lab.run_process()
    check(lab, shop)


def test_killed_at_random_moments(lab: Lab) -> None:
    kill_again_and_again(lab, Shop(SEED), random.Random(SEED), kills=3)


@pytest.mark.soak
@pytest.mark.parametrize("lab", KINDS, indirect=True)
def test_soak_of_random_kills(lab: Lab) -> None:
    """`make soak` sets MELTLINE_SOAK_SECONDS; a seed that fails becomes a test above."""
    share = float(os.environ.get("MELTLINE_SOAK_SECONDS", "0")) / len(KINDS)
    deadline = time.monotonic() + share
    while time.monotonic() < deadline:
        seed = random.SystemRandom().randrange(1 << 30)
        print(f"seed {seed}")  # noqa: T201
        kill_again_and_again(lab, Shop(seed), random.Random(seed), kills=5)
        lab = Lab(lab.base, lab.catalog, lab.spark, lab.sinks, lab.source, lab.extra)


def kill_again_and_again(lab: Lab, shop: Shop, chance: random.Random, kills: int) -> None:
    for _ in range(kills):
        for _ in range(6):
            lab.drop_file(shop.events(100))
        process = lab.start_process()
        # Spark takes some seconds to start: most kills must come after that
        time.sleep(chance.uniform(6.0, 16.0))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    lab.run_process()
    check(lab, shop)
