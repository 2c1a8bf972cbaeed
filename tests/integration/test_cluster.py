"""The pipeline on a real Spark standalone cluster, not only inside one process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.catalogs import Properties
from tests.change_lab import ChangeLab
from tests.cluster import started
from tests.lab import Lab
from tests.process import Run, start_run
from tests.shop import ORDERS, PAID, ROUTES, Shop, check_books
from tests.waiting import wait_for_end, wait_until
from tests.warehouse import Warehouse

SECRET = "nobody-may-read-this"
ENCRYPTED = {"spark.authenticate": "true", "spark.authenticate.secret": SECRET,
             "spark.network.crypto.enabled": "true", "spark.io.encryption.enabled": "true"}


def test_changes_go_through_an_encrypted_shuffle(
    tmp_path: Path, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse.sql("CREATE TABLE {c}.shop.orders (id BIGINT, v STRING) USING iceberg")
    for start in (0, 50):
        warehouse.sql(f"INSERT INTO {{c}}.shop.orders SELECT id, 'a' FROM range({start}, "
                      f"{start + 50})")
    table = {"table_name": "shop.orders", "identifier_columns": ["id"]}
    folder, elsewhere = tmp_path / "cluster", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    lab, stranger = (ChangeLab(base, warehouse, [table]) for base in (tmp_path, elsewhere))
    monkeypatch.setenv("SPARK_SECRET", SECRET)
    with started(folder, ENCRYPTED) as cluster:
        def run(lab: ChangeLab, secret: str) -> Run:
            config = {**ENCRYPTED, "spark.executor.memory": "1g",
                      "spark.authenticate.secret": secret}
            lab.application_keys["spark"] = {"master": cluster.master, "config": config}
            return start_run(lab.write_config(), module="tests.small_tasks")

        other = run(stranger, "wrong")  # is refused for a minute before it gives up
        assert (first := run(lab, "${env:SPARK_SECRET}")).wait() == 0, first.said
        warehouse.sql("UPDATE {c}.shop.orders SET v = 'b' WHERE id % 40 = 7")
        assert (second := run(lab, "${env:SPARK_SECRET}")).wait() == 0, second.said
        assert other.wait() == 1, other.said
    assert "Spark did not start: All masters are unresponsive" in other.said
    assert SECRET not in first.said + second.said + other.said
    changes = lab.changes()
    assert sorted(change[2]["id"] for change in changes[:100]) == list(range(100))
    assert sorted(changes[100:]) == [
        ("UPDATE_AFTER", str(id_), {"id": id_, "v": "b"}) for id_ in (47, 7, 87)]


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
