"""A one-node OpenSearch over plain http."""

import shutil
import zipfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.services.account import Home, make_home
from tests.services.download import build_once, fetch_artifacts, make_readable, programs_dir
from tests.services.java import QUICK_START, find_java
from tests.services.network import LOOPBACK, answers, free_ports
from tests.services.process import Child

JAVA_VERSION = 21
START_SECONDS = 180.0


@dataclass(frozen=True)
class OpenSearch:
    """A running node at ``url``, without authentication."""

    url: str
    log: Path
    _running: ExitStack = field(repr=False, compare=False)

    def stop(self) -> None:
        """Stop the node and forget its data. May be called again."""
        self._running.close()


def prepare() -> Path:
    """The unpacked distribution, downloaded once, together with a Java that can run it."""
    find_java(JAVA_VERSION, for_unprivileged=True)
    # with the machine's own Java where there is one: it knows whom this network trusts
    archives = fetch_artifacts("opensearch", find_java(17))

    def build(into: Path) -> None:
        (archive,) = archives.glob("opensearch-*.zip")
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(into)
        (lib,) = into.glob("opensearch-*/lib")
        for jar in archives.glob("*.jar"):
            shutil.copy(jar, lib)
        make_readable(into)

    (distribution,) = build_once(programs_dir() / archives.name, build).glob("opensearch-*")
    return distribution


def start_opensearch(workdir: Path) -> OpenSearch:
    """An empty node; its log is ``workdir/opensearch.log``.

    The distribution's start script is left out: it runs five more Java programs to compute the
    options below, and asks for a Java module that small runtimes do not have.
    """
    distribution = prepare()
    with ExitStack() as running:
        home = make_home(workdir)
        running.callback(home.discard)
        log = workdir.resolve() / "opensearch.log"
        port, transport_port = free_ports(2)
        _write_settings(distribution, home, port, transport_port)
        child = Child.start(
            "opensearch",
            [find_java(JAVA_VERSION, for_unprivileged=True), *_java_options(distribution, home)],
            log,
            cwd=distribution,
            env={"HOME": str(home.path)},
            account=home.account,
        )
        running.callback(child.stop)
        url = f"http://{LOOPBACK}:{port}"
        child.wait_until(lambda: answers(f"{url}/_cluster/health"), START_SECONDS)
        return OpenSearch(url, log, running.pop_all())


def _java_options(distribution: Path, home: Home) -> list[str]:
    return [
        "-Xms512m",
        "-Xmx512m",
        *QUICK_START,
        "-Djava.awt.headless=true",
        # word boundaries of all languages from ICU, all else as Java has it: without Thai
        # the node makes no index at all, and small runtimes come with a few languages only
        "-Djava.locale.providers=CLDR,SPI",
        f"-Djava.io.tmpdir={home.path}/tmp",
        f"-javaagent:{distribution}/agent/opensearch-agent.jar",
        "--add-opens=java.base/java.nio=ALL-UNNAMED",
        f"-Dopensearch.path.home={distribution}",
        f"-Dopensearch.path.conf={home.path}/config",
        "-Dopensearch.distribution.type=zip",
        "-Dopensearch.bundled_jdk=false",
        "-cp",
        f"{distribution}/lib/*",
        "org.opensearch.bootstrap.OpenSearch",
    ]


def _write_settings(distribution: Path, home: Home, port: int, transport_port: int) -> None:
    for name in ("config", "tmp"):
        (home.path / name).mkdir()
    shutil.copy(distribution / "config" / "log4j2.properties", home.path / "config")
    values = {
        "cluster.name": "meltline-tests",
        "node.name": "node",
        "discovery.type": "single-node",
        "network.host": LOOPBACK,
        "http.port": port,
        "transport.port": transport_port,
        "path.data": home.path / "data",
        "path.logs": home.path / "logs",
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }
    settings = "".join(f"{key}: {value}\n" for key, value in values.items())
    (home.path / "config" / "opensearch.yml").write_text(settings)
    home.own()
