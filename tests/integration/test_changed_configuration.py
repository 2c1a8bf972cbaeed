"""The configuration changes between a crash and the replay of the epoch it cut in two."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from meltline.errors import ConfigurationChanged
from meltline.testing import PowerCut
from tests.catalogs import Properties
from tests.lab import Lab
from tests.shop import ORDERS, PAID, ROUTES

EVENTS = [{"id": 1, "status": "PAID"}, {"id": 2, "status": "NEW"}, {"status": "PAID"}]


@pytest.fixture
def lab(tmp_path: Path, spark: SparkSession, make_catalog: Callable[[str], Properties]) -> Lab:
    lab = Lab(tmp_path, make_catalog("jdbc-sqlite"), spark, sinks=[dict(ORDERS), dict(PAID)],
              extra=dict(ROUTES))
    lab.drop_file(EVENTS)
    return lab


def stricter(lab: Lab) -> None:
    """`paid` takes other events, and refuses some that it took before."""
    lab.extra = {"route": [{"paid": '/status == "NEW"'}]}
    lab.sinks[1] = {**PAID, "dlq": ORDERS["dlq"], "schema": {"columns": [
        {"name": "id", "type": "long"}, {"name": "at", "type": "timestamptz", "required": True}]}}


def half_published(lab: Lab) -> None:
    """As a crash between two tables leaves it: which one comes first is not ours to choose."""
    with pytest.raises(PowerCut):
        lab.run(crash_at="publish")
    assert lab.open_catalog().drop("shop.paid")


def ids(lab: Lab, table: str) -> list[Any]:
    return sorted(row["id"] or 0 for row in lab.rows(table))


def test_half_an_epoch_is_not_finished_with_another_configuration(lab: Lab) -> None:
    half_published(lab)
    stricter(lab)
    with pytest.raises(ConfigurationChanged, match=r"table shop.orders, the dead-letter target "
                                                   r"have it .* and shop.paid does not"):
        lab.run()
    assert lab.open_catalog().load("shop.paid") is None

    lab.extra, lab.sinks[1] = dict(ROUTES), dict(PAID)
    lab.run()
    assert (ids(lab, "shop.orders"), ids(lab, "shop.paid")) == ([1, 2], [0, 1])
    assert len(lab.rows("shop.dead_letters")) == 1

    stricter(lab)
    lab.drop_file([{"id": 3, "status": "NEW"}])
    lab.run()
    assert (ids(lab, "shop.orders"), ids(lab, "shop.paid")) == ([1, 2, 3], [0, 1, 3])


def test_the_command_says_what_to_do_and_ends_with_2(lab: Lab) -> None:
    half_published(lab)
    stricter(lab)
    run = lab.run_process()
    assert run.wait() == 2, run.said
    assert "has changed in the middle of epoch 1" in run.said
    assert "hint: run once with the configuration as it was" in run.said
    assert "Traceback" not in run.said


def test_dead_letter_files_are_found_as_well(lab: Lab) -> None:
    lab.sinks[0]["dlq"] = {"file": {"path": "dlq"}}
    with pytest.raises(PowerCut):
        lab.run(crash_at="publish.letters")
    lab.extra = {"route": [{"paid": '/status == "NEW"'}]}
    with pytest.raises(ConfigurationChanged, match="the dead-letter target has it"):
        lab.run()
    lab.extra = dict(ROUTES)
    lab.run()
    assert (ids(lab, "shop.orders"), ids(lab, "shop.paid")) == ([1, 2], [0, 1])


@pytest.mark.parametrize("point", ["record", "write"])
def test_an_epoch_that_no_table_has_runs_with_the_new_configuration(lab: Lab, point: str) -> None:
    with pytest.raises(PowerCut):
        lab.run(crash_at=point)
    lab.open_catalog().drop("shop.paid")
    stricter(lab)
    lab.run()
    assert (ids(lab, "shop.orders"), ids(lab, "shop.paid")) == ([1, 2], [])
    letters = lab.rows("shop.dead_letters")
    assert sorted(letter["sink"] for letter in letters) == ["shop.orders", "shop.paid"]
    assert lab.epochs("shop.orders") == [1]
