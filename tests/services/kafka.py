"""A Kafka broker that is its own controller."""

import socket
import struct
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.services.download import fetch_artifacts
from tests.services.java import QUICK_START, find_java
from tests.services.network import LOOPBACK, free_ports
from tests.services.process import Child

JAVA_VERSION = 17
CLUSTER_ID = "bWVsdGxpbmUtdGVzdHMtMQ"  # any 16 bytes in URL-safe base64
START_SECONDS = 90.0
API_VERSIONS = 18


@dataclass(frozen=True)
class Kafka:
    """A running broker; ``bootstrap`` is what clients call ``bootstrap.servers``."""

    bootstrap: str
    log: Path
    _running: ExitStack = field(repr=False, compare=False)

    def stop(self) -> None:
        """Stop the broker. May be called again."""
        self._running.close()


def prepare() -> Path:
    """The directory of the broker's jars, downloaded once."""
    return fetch_artifacts("kafka", find_java(JAVA_VERSION))


def start_kafka(workdir: Path) -> Kafka:
    """An empty broker without authentication; data and ``kafka.log`` lie in ``workdir``."""
    jars = prepare()
    here = workdir.resolve()
    here.mkdir(parents=True, exist_ok=True)
    log, settings = here / "kafka.log", here / "server.properties"
    port, controller_port = free_ports(2)
    settings.write_text(_settings(port, controller_port, here / "data"))
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    java = [find_java(JAVA_VERSION), "-Xmx384m", *QUICK_START, quiet, "-cp", f"{jars}/*"]

    tool = [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", settings]
    Child.start("kafka format", tool, log, cwd=here).finish(START_SECONDS)
    with ExitStack() as running:
        child = Child.start("kafka", [*java, "kafka.Kafka", settings], log, cwd=here)
        running.callback(child.stop)
        child.wait_until(lambda: _serves_requests(port), START_SECONDS)
        return Kafka(f"{LOOPBACK}:{port}", log, running.pop_all())


def _settings(port: int, controller_port: int, data: Path) -> str:
    values = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(data),
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _serves_requests(port: int) -> bool:
    """Whether the broker answers: its port is open long before it does."""
    body = struct.pack(">hhih", API_VERSIONS, 0, 1, -1)  # version, correlation id, no client id
    try:
        with socket.create_connection((LOOPBACK, port), timeout=5) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            return len(connection.recv(8)) > 0
    except OSError:
        return False
