"""Random files, arrivals, limits and crashes: every version of every table is as the model says.

A seed that fails is printed; add it to SEEDS.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from meltline.assembly import sources
from meltline.engine.crash import POINTS
from meltline.sources.files import cutting
from meltline.testing import PowerCut
from tests.catalogs import KINDS
from tests.differential.history import History
from tests.lab import Lab
from tests.shop import Shop
from tests.shop_lab import MakeLab

SEEDS = (1, 2, 3)


class Chaos:
    """What happens at the steps of one run: files arrive, and the power is cut once."""

    def __init__(self, chance: random.Random, history: History, cut_at: str) -> None:
        self._chance = chance
        self._history = history
        self._arrivals = chance.randint(0, 2)
        self._cut_at = cut_at
        self._times = chance.choice([1, 1, 2])

    def __call__(self, point: str) -> None:
        if self._arrivals and self._chance.random() < 0.2:
            self._arrivals -= 1
            drop(self._chance, self._history)
        if point == self._cut_at:
            self._times -= 1
            if self._times == 0:
                raise PowerCut(point)


def drop(chance: random.Random, history: History) -> None:
    history.drop(chance.choice([0, 1, 20, 40, 60]))


def cut_small(monkeypatch: pytest.MonkeyPatch, chance: random.Random) -> None:
    """Tasks of a few KB: files of this size would all be one task otherwise."""
    size = chance.choice([1 << 10, 4 << 10, 1 << 20])
    monkeypatch.setattr(cutting, "SMALL", size)
    monkeypatch.setattr(cutting, "OPEN_COST", chance.choice([1, 1 << 10]))
    whole = sources.files_settings

    def with_size(*arguments: Any) -> Any:
        return replace(whole(*arguments), split_size=size)

    monkeypatch.setattr(sources, "files_settings", with_size)


def live(lab: Lab, seed: int, runs: int) -> None:
    """Some runs with crashes, each compared with the model, and a last one without."""
    chance = random.Random(seed)
    history = History(lab, Shop(seed))
    with pytest.MonkeyPatch.context() as monkeypatch:
        cut_small(monkeypatch, chance)
        # other steps in every run: chance alone would leave the interesting ones out for long
        for point in chance.sample(POINTS, runs):
            lab.source["max_files_per_epoch"] = chance.randint(1, 5)
            lab.source["max_bytes_per_epoch"] = chance.choice([1, 5_000, 1 << 20])
            for _ in range(chance.randint(1, 3)):
                drop(chance, history)
            with suppress(PowerCut):
                lab.run(crash=Chaos(chance, history, point))
            history.check()
        history.drop(10)
        lab.run()
        history.check_complete()


@pytest.mark.parametrize("seed", SEEDS)
def test_every_version_is_as_the_model_says(make_lab: MakeLab, seed: int) -> None:
    live(make_lab("jdbc-sqlite"), seed, runs=4)


@pytest.mark.soak
def test_soak_of_random_histories(make_lab: MakeLab) -> None:
    deadline = time.monotonic() + float(os.environ.get("MELTLINE_SOAK_SECONDS", "0")) / 2
    number = 0
    while time.monotonic() < deadline:
        seed, kind = random.SystemRandom().randrange(1 << 30), KINDS[number % len(KINDS)]
        number += 1
        print(f"history on {kind}: seed {seed}", flush=True)  # noqa: T201
        live(make_lab(kind), seed, runs=6)
