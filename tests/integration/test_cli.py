"""`meltline` as a user runs it: exit codes, messages, signals, status, metrics."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.catalogs import Properties
from tests.lab import Lab
from tests.services.network import free_ports
from tests.services.postgres import Postgres
from tests.shop import ORDERS, PAID, ROUTES, Shop, check_books
from tests.waiting import wait_until


@pytest.fixture
def lab(tmp_path: Path, spark: SparkSession, make_catalog: Callable[[str], Properties]) -> Lab:
    return Lab(tmp_path, make_catalog("jdbc-sqlite"), spark, sinks=[dict(ORDERS), dict(PAID)],
               extra=dict(ROUTES))


def meltline(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "meltline.cli.main", *arguments], cwd=cwd,
                          capture_output=True, text=True, check=False)


def test_a_mistake_in_the_file_exits_2_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("p:\n  source: {files: {path: [a]}}\n  sink: []\n")
    for command in (["validate", "p.yaml"], ["run", "p.yaml", "--once"], ["status", "p.yaml"]):
        done = meltline(*command, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert 'did you mean "paths"' in done.stderr
        assert "p.yaml:2" in done.stderr
        assert "Traceback" not in done.stderr


def test_help_has_an_example_for_every_command(tmp_path: Path) -> None:
    for command in ("run", "validate", "status"):
        done = meltline(command, "--help", cwd=tmp_path)
        assert done.returncode == 0
        assert f"meltline {command}" in done.stdout.partition("example")[2]


def test_run_until_sigterm_with_metrics_and_status(lab: Lab) -> None:
    shop = Shop(seed=41)
    lab.drop_file(shop.events(50))
    (port,) = free_ports(1)
    process = lab.start_process(once=False, options=["--metrics-port", str(port),
                                                     "--log-format", "json"])
    catalog = lab.open_catalog()
    wait_until("the first epoch", lambda: catalog.load("shop.orders") is not None
               and lab.epochs("shop.orders") == [1])
    lab.drop_file(shop.events(50))
    wait_until("the second epoch", lambda: lab.epochs("shop.orders") == [1, 2])
    wait_until("the ledger", lambda: 'meltline_epochs_done_total{pipeline="lab"} 2.0' in
               urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode())
    assert process.stop() == 0, process.said
    lines = [json.loads(line) for line in process.said.splitlines()]
    published = [line for line in lines if line["message"] == "epoch published"]
    assert {(line["table"], line["epoch"]) for line in published} >= {
        ("shop.orders", 1), ("shop.orders", 2)}
    assert all(line["batch_id"] and line["pipeline"] == "lab" for line in published)

    done = meltline("status", str(lab.file), "--json", cwd=lab.base)
    (lane,) = json.loads(done.stdout)["lanes"]
    assert lane["epoch"] == 2
    assert lane["lag"] == 0
    assert lane["snapshots"]["shop.orders"] == lab.snapshots("shop.orders")[-1].snapshot_id
    check_books(shop, lab.rows("shop.orders"), lab.rows("shop.paid"),
                lab.rows("shop.dead_letters"))


def test_two_real_drivers_one_goes_on_the_other_says_why(lab: Lab) -> None:
    shop = Shop(seed=42)
    lab.drop_file(shop.events(50))
    older = lab.start_process(once=False)
    catalog = lab.open_catalog()
    wait_until("the older driver", lambda: catalog.load("shop.orders") is not None)
    lab.drop_file(shop.events(50))
    newer = lab.start_process(once=False)
    try:
        for _ in range(20):
            lab.drop_file(shop.events(5))
            with suppress(subprocess.TimeoutExpired):
                older.process.wait(3)
                break
        assert older.wait(60) == 1
        assert "was taken over by" in older.said
        assert "Traceback" not in older.said
    finally:
        newer.stop()
    lab.finish()
    check_books(shop, lab.rows("shop.orders"), lab.rows("shop.paid"),
                lab.rows("shop.dead_letters"))


def test_a_refused_login_is_an_error_without_the_password(
    tmp_path: Path, postgres: Postgres
) -> None:
    secret = "hunter2-very-secret"
    (tmp_path / "pw").write_text(secret)
    (tmp_path / "p.yaml").write_text(json.dumps({"p": {
        "source": {"files": {"paths": ["x"]}},
        "sink": [{"iceberg": {"table_identifier": "a.b", "auto_create": True, "catalog": {
            "type": "jdbc", "warehouse": "w", "jdbc.user": "nobody",
            "jdbc.password": "${file:" + str(tmp_path / "pw") + "}",
            "uri": f"jdbc:postgresql://{postgres.host}:{postgres.port}/postgres"}}}]}}))
    done = meltline("run", "p.yaml", "--once", cwd=tmp_path)
    assert done.returncode == 1
    assert "cannot open the jdbc catalog" in done.stderr
    assert secret not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
