"""What Spark is told before it starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from meltline.spark.session import (
    SparkSettings,
    _defaults,
    _jvm_speaks_to,
    _with_retries,
    driver_memory,
    total_memory,
    why_not_started,
)

GIB = 1 << 30
MEMORY = {1 * GIB: "1024m", 8 * GIB: "1024m", 16 * GIB: "2048m", 20 * GIB: "2560m",
          32 * GIB: "4096m", 512 * GIB: "4096m", 0: "1024m"}  # fmt: skip


@pytest.mark.parametrize("total", MEMORY)
def test_the_memory_of_the_driver(total: int) -> None:
    assert driver_memory(total) == MEMORY[total]


def test_this_machine_has_memory() -> None:
    assert total_memory() > 1 << 28


MASTERS = {
    "local": "local[1,4]", "local[2]": "local[2,4]", "local[*]": "local[*,4]",
    "local[2,1]": "local[2,1]", "local-cluster[2,1,1024]": "local-cluster[2,1,1024]",
    "spark://host:7077": "spark://host:7077", "yarn": "yarn", "k8s://https://x": "k8s://https://x",
}  # fmt: skip


@pytest.mark.parametrize("master", MASTERS)
def test_tasks_are_tried_again_in_local_mode_too(master: str) -> None:
    assert _with_retries(master) == MASTERS[master]


def test_defaults() -> None:
    found = _defaults(SparkSettings(), [Path("/a.jar"), Path("/b.jar")])
    assert found["spark.jars"] == "/a.jar,/b.jar"
    assert found["spark.sql.session.timeZone"] == "UTC"
    assert found["spark.scheduler.mode"] == "FAIR"
    assert found["spark.driver.memory"] == driver_memory(total_memory())
    assert found["spark.driver.host"] == "127.0.0.1"


def test_a_cluster_may_reach_the_driver() -> None:
    found = _defaults(SparkSettings(master="spark://host:7077", driver_memory="3g"), [])
    assert "spark.driver.host" not in found
    assert found["spark.driver.memory"] == "3g"


def test_what_java_says_goes_to_a_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "logs" / "spark-1.log"
    with _jvm_speaks_to(log):
        os.write(2, b"from java\n")
    sys.stderr.write("ours\n")
    sys.stderr.flush()
    os.write(2, b"ours too\n")
    assert log.read_text() == "from java\n"
    assert "from java" not in capfd.readouterr().err


def test_standard_error_comes_back_after_a_failure(tmp_path: Path) -> None:
    before = os.fstat(2)
    with pytest.raises(RuntimeError, match="no"), _jvm_speaks_to(tmp_path / "spark-1.log"):
        raise RuntimeError("no")
    assert os.fstat(2) == before


def test_old_logs_are_removed(tmp_path: Path) -> None:
    for number in range(30):
        log = tmp_path / f"spark-{number}.log"
        log.write_text("")
        os.utime(log, (number, number))
    with _jvm_speaks_to(tmp_path / "spark-new.log"):
        pass
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {f"spark-{number}.log" for number in range(10, 30)} | {"spark-new.log"}


def test_a_log_that_another_process_removes_meanwhile_is_no_error(tmp_path: Path) -> None:
    # listed but not there to be looked at
    (tmp_path / "spark-gone.log").symlink_to(tmp_path / "nothing")
    with _jvm_speaks_to(tmp_path / "spark-new.log"):
        pass
    assert (tmp_path / "spark-new.log").exists()


def test_why_spark_did_not_start() -> None:
    refused = ("07:59:18 ERROR TransportClient: Failed to send\njava.io.IOException: closed\n"
               "\tat org.apache.spark.A.b(A.java:1)\n08:00:17 ERROR Backend: Application has been "
               "killed. Reason: All masters are unresponsive! Giving up.\n")
    assert why_not_started("An error occurred", refused) == (
        "All masters are unresponsive! Giving up.")
    memory = ("07:59:18 ERROR SparkContext: Error initializing SparkContext.\njava.lang.Illegal: "
              "[INVALID_EXECUTOR_MEMORY] must be at least 471859200\n\tat b\n"
              "07:59:19 ERROR Utils: Uncaught exception in thread Thread-4\n")
    assert why_not_started("An error occurred\nat length", "WARNING: x\n" * 9 + memory) == (
        "An error occurred\n" + memory.replace("\tat b\n", "").rstrip("\n"))
    broken = "Unrecognized VM option 'X'\nError: Could not create the Java Virtual Machine.\n"
    assert why_not_started("the gateway has ended\nand more", broken) == (
        "the gateway has ended\n" + broken.rstrip("\n"))
    assert why_not_started("", "Exception: a\n\tat b\n\t... 3 more\n") == (
        "no reason given\nException: a")
