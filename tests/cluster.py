"""A real Spark standalone cluster on loopback: a master and two workers of the pip package."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from meltline.spark.java import find_java
from tests.services.network import LOOPBACK, free_ports
from tests.waiting import wait_until

HOME = Path(pyspark.__file__).parent


@dataclass(frozen=True)
class Cluster:
    master: str
    workers: tuple[subprocess.Popen[bytes], ...]
    logs: Path

    def kill_worker(self, index: int) -> None:
        """Like a machine that is switched off: the worker and its executors are gone at once."""
        parent = self.workers[index].pid
        for pid in [*_descendants(parent), parent]:
            os.kill(pid, 9)


@contextmanager
def started(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """`settings` are Spark's own, for the master and the workers."""
    port, ui, *worker_uis = free_ports(4)
    lines = [f"{key} {value}\n" for key, value in (settings or {}).items()]
    (folder / "spark-defaults.conf").write_text("".join(lines))
    address = f"spark://{LOOPBACK}:{port}"
    with ExitStack() as stack:
        master_log = folder / "master.log"
        _launch(stack, folder, master_log, "master.Master", "--host", LOOPBACK, "--port",
                str(port), "--webui-port", str(ui))
        wait_until("the master", lambda: "I have been elected leader" in _read(master_log))
        workers = tuple(
            _launch(stack, folder, folder / f"worker{i}.log", "worker.Worker", "--host", LOOPBACK,
                    "-c", "1", "-m", "2g", "-d", str(folder / f"work{i}"),
                    "--webui-port", str(worker_ui), address)
            for i, worker_ui in enumerate(worker_uis))
        for i in range(len(workers)):
            log = folder / f"worker{i}.log"
            wait_until("a worker", lambda log=log: "Successfully registered" in _read(log))
        yield Cluster(address, workers, folder)


def _launch(
    stack: ExitStack, folder: Path, log: Path, kind: str, *arguments: str
) -> subprocess.Popen[bytes]:
    java = find_java()
    environment = {**os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": LOOPBACK,
                   "SPARK_NO_DAEMONIZE": "1", "JAVA_HOME": str(java.resolve().parent.parent),
                   "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_DIRS": str(folder),
                   "SPARK_WORKER_DIR": str(folder), "SPARK_CONF_DIR": str(folder)}
    command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *arguments]
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=output,
                                   stderr=subprocess.STDOUT)
    stack.callback(_stop, process)
    return process


def _stop(process: subprocess.Popen[bytes]) -> None:
    for pid in _descendants(process.pid):
        _signal(pid, 9)
    process.kill()
    process.wait(30)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _descendants(parent: int) -> list[int]:
    """Children first to be found, grandchildren last."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            child = int(entry.parent.name)
            found += [child, *_descendants(child)]
    return found


def _read(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
