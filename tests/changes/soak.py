"""Trials drawn at random for as long as `make soak` likes."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from tests.catalogs import KINDS, Properties
from tests.changes.combination import any_combination
from tests.changes.trial import Trial


def random_trials(
    what: str, folder: Path, spark: SparkSession, make_catalog: Callable[[str], Properties]
) -> Iterator[tuple[Trial, random.Random]]:
    """Until MELTLINE_SOAK_SECONDS have passed, each with its seed printed."""
    deadline = time.monotonic() + float(os.environ.get("MELTLINE_SOAK_SECONDS", "0"))
    while time.monotonic() < deadline:
        seed = random.SystemRandom().randrange(1 << 30)
        chance = random.Random(seed)
        combination, kind = any_combination(chance), chance.choice(KINDS)
        print(f"seed {seed}: {what}, {combination} on {kind}")  # noqa: T201
        base = folder / str(seed)
        base.mkdir()
        yield Trial.make(base, make_catalog(kind), spark, combination, seed), chance
