"""kill -9 of the real process, at named steps and at random moments, on every catalog.

A process takes some seconds to start: `make test` takes every step on one catalog and a sample on
the others, `make soak` every step on every catalog, and then random moments.
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
SAMPLE = 3


def deal(seed: int) -> dict[str, tuple[str, ...]]:
    """Steps for each of the other catalogs: no step is left out, and none is tried twice before
    every other one was tried."""
    chance = random.Random(seed)
    cards = [point for _ in OTHERS for point in chance.sample(POINTS, len(POINTS))]
    return {kind: tuple(cards[i * SAMPLE:(i + 1) * SAMPLE]) for i, kind in enumerate(OTHERS)}


def test_the_samples_and_the_whole_cover_every_step_three_times() -> None:
    dealt = [*POINTS, *(point for points in deal(SEED).values() for point in points)]
    assert {point: dealt.count(point) for point in POINTS if dealt.count(point) < 3} == {}


def test_killed_at_every_step(make_lab: MakeLab) -> None:
    lab, shop = make_lab(AT_HOME, max_files_per_epoch=3), Shop(SEED)
    kill_at(lab, shop, POINTS)
    finish(lab, shop)


@pytest.mark.parametrize("kind", OTHERS)
def test_killed_at_a_sample_of_steps_and_at_a_random_moment(make_lab: MakeLab, kind: str) -> None:
    lab, shop = make_lab(kind, max_files_per_epoch=3), Shop(SEED)
    usual = kill_at(lab, shop, deal(SEED)[kind])
    kill_at_random(lab, shop, random.Random(f"{SEED} {kind}"), usual)
    finish(lab, shop)


def test_killed_at_random_moments(make_lab: MakeLab) -> None:
    kill_again_and_again(make_lab(AT_HOME, max_files_per_epoch=3), SEED, kills=3)


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
        kill_again_and_again(make_lab(kind, max_files_per_epoch=3), seed, kills=3)


def kill_at(lab: Lab, shop: Shop, points: Sequence[str]) -> float:
    """Each run first mends what the last one left behind, then dies at its own step.

    Returns how many seconds the last one lived.
    """
    began = time.monotonic()
    for point in points:
        for _ in range(2):
            lab.drop_file(shop.events(200))
        began = time.monotonic()
        done = lab.run_process(crash_at=point, check=False)
        assert done.returncode == -signal.SIGKILL, f"{point}: {done.stderr}"
    return time.monotonic() - began


def kill_again_and_again(lab: Lab, seed: int, kills: int) -> None:
    shop, chance = Shop(seed), random.Random(seed)
    usual = kill_at(lab, shop, ["write"])
    for _ in range(kills):
        kill_at_random(lab, shop, chance, usual)
    finish(lab, shop)


def kill_at_random(lab: Lab, shop: Shop, chance: random.Random, usual: float) -> None:
    """`usual` is about how long a run takes to its first epoch: mostly Spark's start, in which
    there is nothing to break."""
    for _ in range(6):
        lab.drop_file(shop.events(100))
    process = lab.start_process()
    time.sleep(chance.uniform(0.7, 1.3) * usual)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def finish(lab: Lab, shop: Shop) -> None:
    lab.run_process()
    check_shop(lab, shop)
