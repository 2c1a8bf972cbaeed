"""The promises of the Iceberg sink, on every catalog, on local disk and on S3."""

from __future__ import annotations

import threading

import pytest

from meltline.engine.crash import POINTS
from meltline.errors import Fenced
from meltline.sinks.iceberg.ledger import control_table_name
from meltline.testing import PowerCut, Recorder
from tests.catalogs import KINDS
from tests.lab import Lab
from tests.shop import Shop, check_books
from tests.shop_lab import MakeLab, check_shop, tables
from tests.waiting import wait_for_end

FILES_PER_EPOCH = 2


@pytest.fixture(params=KINDS)
def lab(request: pytest.FixtureRequest, make_lab: MakeLab) -> Lab:
    return make_lab(request.param, max_files_per_epoch=FILES_PER_EPOCH)


def check(lab: Lab, shop: Shop, epochs: int) -> None:
    check_shop(lab, shop)
    assert lab.epochs(tables(lab)[0]) == list(range(1, epochs + 1))


def test_a_crash_at_every_step_loses_and_doubles_nothing(lab: Lab) -> None:
    shop = Shop(seed=11)
    epochs = 0
    for point in POINTS:
        for _ in range(FILES_PER_EPOCH):
            lab.drop_file(shop.events(40))
        epochs += 1
        with pytest.raises(PowerCut):
            lab.run(crash_at=point)
    lab.run()
    check(lab, shop, epochs)


def test_the_ledger_and_old_snapshots_may_get_lost(lab: Lab) -> None:
    shop = Shop(seed=12)
    for _ in range(3):
        for _ in range(FILES_PER_EPOCH):
            lab.drop_file(shop.events(30))
        lab.run()
    orders, paid, letters = tables(lab)
    catalog = lab.open_catalog()
    for name in (orders, paid, letters):
        table = catalog.load(name)
        assert table is not None
        table.java.expireSnapshots().expireOlderThan(1 << 60).retainLast(1).commit()
    assert catalog.drop(control_table_name(lab.extra["ledger"]["iceberg"]["namespace"], "lab"))

    lab.run()
    check_books(shop, lab.rows(orders), lab.rows(paid), lab.rows(letters))
    lab.drop_file(shop.events(30))
    lab.run()
    check_books(shop, lab.rows(orders), lab.rows(paid), lab.rows(letters))


def test_the_older_of_two_drivers_stops_and_says_why(lab: Lab) -> None:
    shop = Shop(seed=13)
    for _ in range(2 * FILES_PER_EPOCH):
        lab.drop_file(shop.events(20))
    older = lab.application().runners(Recorder(), once=True, crash=lambda _: None)
    older[0].lane.start()
    assert older[0].lane.run_epoch() is not None

    lab.run()
    with pytest.raises(Fenced, match=r"taken over by .*; this driver .* stops"):
        # it would write the second epoch once more, but cannot record it
        lab.drop_file(shop.events(20))
        older[0].lane.run_epoch()
    lab.run()
    check(lab, shop, epochs=3)


def test_an_older_driver_in_the_middle_of_publishing_doubles_nothing(lab: Lab) -> None:
    shop = Shop(seed=14)
    for _ in range(FILES_PER_EPOCH):
        lab.drop_file(shop.events(20))
    application = lab.application()

    def overtaken(point: str) -> None:
        if point == "write":
            lab.run()

    (older,) = application.runners(Recorder(), once=True, crash=overtaken)
    older.lane.start()
    with pytest.raises(Fenced):
        older.lane.run_epoch()
    check(lab, shop, epochs=1)


def test_every_epoch_lands_beside_a_writer_that_never_rests(lab: Lab) -> None:
    shop = Shop(seed=15)
    lab.drop_file(shop.events(20))
    lab.run()
    orders = tables(lab)[0]
    stop = threading.Event()
    foreign = [0]

    def commit_again_and_again() -> None:
        table = lab.table(orders)
        while not stop.is_set():
            table.refresh()
            try:
                table.java.newAppend().set("foreign", "yes").commit()
            except Exception:  # noqa: BLE001  # it lost the race; it is not the one under test
                continue
            foreign[0] += 1
            # a commit takes longer than this pause: most of ours meet one of its
            stop.wait(0.05)

    writer = threading.Thread(target=commit_again_and_again, daemon=True)
    writer.start()
    try:
        for _ in range(2):
            for _ in range(FILES_PER_EPOCH):
                lab.drop_file(shop.events(20))
            lab.run()
    finally:
        stop.set()
        wait_for_end(writer)
    check(lab, shop, epochs=3)
    assert foreign[0] > 0
