"""kill -9 of the real process, at named steps and at random moments, on every catalog.

A process takes some seconds to start: `make test` takes every step on one catalog and a step and a
random moment on each of the others, `make soak` every step on every catalog, and then random
moments. The contract tests cut every step on every catalog inside of one process.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Sequence

import pytest

from meltline.engine.crash import POINTS
from tests.catalogs import KINDS
from tests.lab import Lab
from tests.shop import Shop
from tests.shop_lab import MakeLab, check_shop

SEED = 31
AT_HOME = "jdbc-sqlite"
OTHERS = tuple(kind for kind in KINDS if kind != AT_HOME)
ONE_EACH = dict(zip(OTHERS, random.Random(SEED).sample(POINTS, len(OTHERS)), strict=True))


def test_killed_at_every_step_and_at_random_moments(make_lab: MakeLab) -> None:
    lab, shop = make_lab(AT_HOME, max_files_per_epoch=3), Shop(SEED)
    kill_at(lab, shop, POINTS)
    kill_at_random(lab, shop, random.Random(SEED), kills=2)
    finish(lab, shop)


@pytest.mark.parametrize(("kind", "point"), ONE_EACH.items())
def test_killed_at_a_step_and_at_a_random_moment(
    make_lab: MakeLab, kind: str, point: str
) -> None:
    lab, shop = make_lab(kind, max_files_per_epoch=3), Shop(SEED)
    kill_at(lab, shop, [point])
    kill_at_random(lab, shop, random.Random(f"{SEED} {kind}"), kills=1)
    finish(lab, shop)


@pytest.mark.soak
@pytest.mark.parametrize("kind", OTHERS)
def test_soak_of_every_step(make_lab: MakeLab, kind: str) -> None:
    lab, shop = make_lab(kind, max_files_per_epoch=3), Shop(SEED)
    kill_at(lab, shop, POINTS)
    finish(lab, shop)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_soak_of_random_kills(make_lab: MakeLab, kind: str) -> None:
    """`make soak` sets MELTLINE_SOAK_SECONDS; a seed that fails becomes a test above."""
    share = float(os.environ.get("MELTLINE_SOAK_SECONDS", "0")) / 2 / len(KINDS)
    deadline = time.monotonic() + share
    while time.monotonic() < deadline:
        seed = random.SystemRandom().randrange(1 << 30)
        print(f"kills on {kind}: seed {seed}", flush=True)  # noqa: T201
        lab, shop = make_lab(kind, max_files_per_epoch=3), Shop(seed)
        kill_at_random(lab, shop, random.Random(seed), kills=3)
        finish(lab, shop)


def kill_at(lab: Lab, shop: Shop, points: Sequence[str]) -> None:
    """Each run first mends what the last one left behind, then dies at its own step."""
    for point in points:
        for _ in range(2):
            lab.drop_file(shop.events(200))
        run = lab.run_process(crash_at=point)
        assert run.wait() == -signal.SIGKILL, f"{point}: {run.said}"


def kill_at_random(lab: Lab, shop: Shop, chance: random.Random, kills: int) -> None:
    """Not while Spark starts: there is nothing to break then."""
    for _ in range(kills):
        for _ in range(6):
            lab.drop_file(shop.events(100))
        run = lab.start_process()
        run.wait_until_says("took over", "epoch published")
        time.sleep(chance.uniform(0, 3))
        run.kill()


def finish(lab: Lab, shop: Shop) -> None:
    lab.finish()
    check_shop(lab, shop)
