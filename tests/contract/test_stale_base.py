"""Writers that hold an old version of a table: the swap itself must stop them, on every catalog."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from meltline.engine.epoch import Epoch
from meltline.engine.ledger import LaneState, Owner
from meltline.errors import Fenced, RunError
from meltline.lake.catalog import Catalog
from meltline.lake.change import Change
from meltline.lake.jvm import Jvm
from meltline.lake.table import Table
from meltline.model.plan import Position
from meltline.sinks.iceberg.ledger import IcebergLedger, control_table_name
from meltline.sinks.iceberg.letters import SCHEMA
from meltline.sinks.iceberg.publish import PublishedTable, Publisher
from tests.catalogs import KINDS, Properties
from tests.unit.engine.epochs import epoch
from tests.waiting import wait_for_end

ANNA, BERT = Owner("a" * 32, "here/1"), Owner("b" * 32, "there/2")
STATE = LaneState(1, Position({"next": 10}), None, {"db.t": 5}, 17)
OTHER = LaneState(2, Position({"next": 20}), None, {"db.t": 6}, 18)


@pytest.fixture(params=KINDS)
def catalog(
    request: pytest.FixtureRequest, make_catalog: Callable[[str], Properties], spark: SparkSession
) -> Catalog:
    return Catalog(Jvm(spark), make_catalog(request.param))


@pytest.fixture
def space(tmp_path: Path) -> str:
    """A REST server is shared by all tests of the run."""
    return tmp_path.name.replace("-", "_")


class Ledgers:
    """Drivers of one pipeline, each with a handle that nobody refreshes for it."""

    def __init__(self, catalog: Catalog, space: str) -> None:
        self._catalog = catalog
        self._space = space
        self.open()

    def open(self) -> IcebergLedger:
        return IcebergLedger.open(self._catalog, self._space, "p")

    def version(self) -> int | None:
        table = self._catalog.load(control_table_name(self._space, "p"))
        assert table is not None
        return table.current_snapshot_id()


def test_a_driver_that_was_taken_over_writes_nothing(catalog: Catalog, space: str) -> None:
    ledgers = Ledgers(catalog, space)
    older, newer = ledgers.open(), ledgers.open()
    older.claim(ANNA)
    older.save("l", STATE)
    # `newer` still holds the empty ledger; a claim that did not compare would lose the state
    assert newer.claim(BERT) == ANNA
    assert newer.load("l") == STATE

    before = ledgers.version()
    for _ in range(2):
        with pytest.raises(Fenced, match=r"was taken over by there/2 \(bbbbbbbb\)"):
            older.save("l", OTHER)
    assert ledgers.version() == before
    seen = ledgers.open()
    assert (seen.load("l"), seen.owner()) == (STATE, BERT)
    newer.save("l", OTHER)
    assert seen.load("l") == OTHER


def test_lanes_of_one_driver_do_not_undo_each_other(catalog: Catalog, space: str) -> None:
    ledgers = Ledgers(catalog, space)
    one, other = ledgers.open(), ledgers.open()
    one.claim(ANNA)
    other.claim(ANNA)
    one.save("one", STATE)
    other.save("other", OTHER)
    seen = ledgers.open()
    assert (seen.load("one"), seen.load("other")) == (STATE, OTHER)


def test_claims_at_the_same_time_follow_one_another(catalog: Catalog, space: str) -> None:
    """Every claim names the one before it: none is named twice, and only the last one never."""
    ledgers = Ledgers(catalog, space)
    names = [[Owner(f"{driver}{number}" * 16, "here") for number in range(4)]
             for driver in range(2)]
    before: list[Owner | None] = []

    def claim_all(owners: list[Owner]) -> None:
        ledger = ledgers.open()
        before.extend([ledger.claim(owner) for owner in owners])

    threads = [threading.Thread(target=claim_all, args=(owners,), daemon=True) for owners in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        wait_for_end(thread)
    last = ledgers.open().owner()
    everybody = {owner for owners in names for owner in owners}
    assert len(before) == len(everybody)
    assert set(before) == {None, *everybody} - {last}


class Stale(Table):
    """Looks away for the first refresh, as a writer does that looked a moment too early."""

    blind = True

    def refresh(self) -> None:
        if not self.blind:
            super().refresh()
        self.blind = False


def publish(table: Table, one: Epoch, owner: str) -> PublishedTable:
    return Publisher(table, one, owner).publish([], Change)


def handles(catalog: Catalog, space: str) -> tuple[Table, Stale]:
    fresh = catalog.create(f"{space}.t", SCHEMA)
    publish(fresh, epoch(1), "first")
    stale = catalog.load(f"{space}.t")
    assert stale is not None
    return fresh, Stale(stale.jvm, stale.identifier, stale.java)


def test_a_publish_from_an_old_version_finds_the_epoch(catalog: Catalog, space: str) -> None:
    fresh, stale = handles(catalog, space)
    done = publish(fresh, epoch(2), "fresh")
    again = publish(stale, epoch(2), "stale")
    assert (again.repeated, again.snapshot_id) == (True, done.snapshot_id)
    assert [s.summary["meltline.owner"] for s in stale.ancestry()] == ["fresh", "first"]


@pytest.mark.parametrize(("number", "start"), [(2, 0), (3, 5)], ids=["behind", "another plan"])
def test_a_publish_from_an_old_version_is_fenced(
    catalog: Catalog, space: str, number: int, start: int
) -> None:
    fresh, stale = handles(catalog, space)
    publish(fresh, epoch(3), "fresh")
    with pytest.raises(RunError):
        publish(stale, epoch(number, start), "stale")
    fresh.refresh()
    assert [s.summary["meltline.owner"] for s in fresh.ancestry()] == ["fresh", "first"]
