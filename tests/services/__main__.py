"""``python -m tests.services``: run the test services in the foreground."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.services import kafka, opensearch, postgres, rest_catalog, s3
from tests.services.download import locked
from tests.services.errors import ServiceError

HERE = Path(".services")
Endpoint = str | dict[str, str]


class Running(Protocol):
    """What every started service can do."""

    def stop(self) -> None:
        """Stop it. May be called again."""


@dataclass(frozen=True)
class Service:
    """How to get one service ready, and to start it and learn its endpoint."""

    prepare: Callable[[], object]
    start: Callable[[Path], tuple[Running, Endpoint]]


def _s3(workdir: Path) -> tuple[Running, Endpoint]:
    server = s3.start_s3(workdir)
    keys = {"access_key": server.access_key, "secret_key": server.secret_key}
    return server, {"endpoint": server.endpoint, **keys}


def _postgres(workdir: Path) -> tuple[Running, Endpoint]:
    server = postgres.start_postgres(workdir)
    return server, server.dsn


def _rest(workdir: Path) -> tuple[Running, Endpoint]:
    server = rest_catalog.start_rest_catalog(workdir)
    return server, server.uri


def _kafka(workdir: Path) -> tuple[Running, Endpoint]:
    server = kafka.start_kafka(workdir)
    return server, server.bootstrap


def _opensearch(workdir: Path) -> tuple[Running, Endpoint]:
    server = opensearch.start_opensearch(workdir)
    return server, server.url


SERVICES = {
    "postgres": Service(postgres.prepare, _postgres),
    "kafka": Service(kafka.prepare, _kafka),
    "rest": Service(rest_catalog.prepare, _rest),
    "s3": Service(s3.prepare, _s3),
    "opensearch": Service(opensearch.prepare, _opensearch),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Prepare or run the chosen services; returns the exit code."""
    arguments = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if arguments.prepare:
            prepare(arguments.only)
        else:
            serve(arguments.only, HERE)
    except ServiceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped", flush=True)
    return 0


def prepare(names: Sequence[str]) -> None:
    """Download and build what the services need, and start nothing."""
    for name in names:
        begun = time.monotonic()
        print(f"{name}: preparing", flush=True)
        SERVICES[name].prepare()
        print(f"{name}: prepared ({time.monotonic() - begun:.1f} s)", flush=True)


def serve(names: Sequence[str], here: Path) -> None:
    """Run the services until we are interrupted; only then does it end, by KeyboardInterrupt.

    ``here/endpoints.json`` exists exactly while all of them are up.
    """
    here.mkdir(exist_ok=True)
    endpoints: dict[str, Endpoint] = {}
    with ExitStack() as running:
        running.enter_context(locked(here / "lock", wait=False))
        (here / "endpoints.json").unlink(missing_ok=True)
        for name in names:
            begun = time.monotonic()
            print(f"{name}: starting", flush=True)
            server, endpoints[name] = SERVICES[name].start(_empty(here / name))
            running.callback(server.stop)
            print(f"{name}: up ({time.monotonic() - begun:.1f} s)", flush=True)
        running.callback((here / "endpoints.json").unlink, missing_ok=True)
        _write_whole(here / "endpoints.json", json.dumps(endpoints, indent=2, sort_keys=True))
        print(f"ready: {here / 'endpoints.json'} (interrupt to stop)", flush=True)
        signal.pause()


def _empty(directory: Path) -> Path:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    return directory


def _write_whole(path: Path, text: str) -> None:
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text + "\n")
    partial.replace(path)


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in SERVICES]:
        known = ", ".join(SERVICES)
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; choose from: {known}")
    return list(dict.fromkeys(names))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.services", description=__doc__)
    parser.add_argument(
        "--only", type=_names, default=list(SERVICES), metavar="A,B", help="start only these"
    )
    parser.add_argument(
        "--prepare", action="store_true", help="only download and build; start nothing"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
