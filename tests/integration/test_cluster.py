"""The pipeline on a real Spark standalone cluster, not only inside one process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from tests.catalogs import Properties
from tests.cluster import started
from tests.lab import Lab
from tests.shop import ORDERS, PAID, ROUTES, Shop, check_books
from tests.waiting import wait_for_end, wait_until


def test_a_worker_lost_in_mid_epoch_changes_nothing(
    tmp_path: Path, spark: SparkSession, make_catalog: Callable[[str], Properties]
) -> None:
    shop = Shop(seed=21)
    lab = Lab(tmp_path, make_catalog("jdbc-sqlite"), spark, sinks=[dict(ORDERS), dict(PAID)],
              extra=dict(ROUTES))
    for _ in range(24):
        lab.drop_file(shop.events(15_000))
    folder = tmp_path / "cluster"
    folder.mkdir()
    with started(folder) as cluster:
        lab.application_keys["spark"] = {
            "master": cluster.master, "config": {"spark.executor.memory": "1g"}}
        process = lab.start_process()

        def kill_when_busy() -> None:
            data = Path(lab.catalog["warehouse"])
            files = "shop/orders/data/**/*.parquet"
            wait_until("the first data file", lambda: any(data.glob(files)))
            cluster.kill_worker(0)

        killer = threading.Thread(target=kill_when_busy, daemon=True)
        killer.start()
        assert process.wait(400) == 0, process.said
        wait_for_end(killer)
    check_books(shop, lab.rows("shop.orders"), lab.rows("shop.paid"),
                lab.rows("shop.dead_letters"))
    assert lab.epochs("shop.orders") == [1]
