"""The readers, started when first asked and asked through one pipe each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyiceberg.table import StaticTable

from tests.readers.values import dumps, loads
from tests.services.download import build_once, cache_dir, run_tool

Rows = list[dict[str, Any]]
HERE = Path(__file__).parent

# DuckDB's extensions as wheels: no server of its own is needed. 2.0 has no such wheels
DUCKDB = ("duckdb==1.5.5", "duckdb-extension-iceberg==1.5.5", "duckdb-extension-avro==1.5.5",
          "duckdb-extension-httpfs==1.5.5", "pytz==2026.6")
# the newest DataFusion that this iceberg-rust was built for
RUST = ("pyiceberg-core==0.11.0", "datafusion==54.1.0")


class CannotRead(Exception):
    """What the reader itself said when it refused the table."""


@dataclass
class Reader:
    """A reader in a process of its own."""

    name: str
    script: str
    requirements: tuple[str, ...]
    travels: bool
    _process: subprocess.Popen[str] | None = field(default=None, repr=False)

    def read(self, metadata: Path, snapshot: int | None = None) -> Rows:
        """Every row of the table at `metadata`, or of one of its snapshots.

        Raises CannotRead with the reader's own words. A reader without time travel is handed
        the table as it was: its metadata with that snapshot as the current one.
        """
        if snapshot is not None and not self.travels:
            metadata, snapshot = as_of(metadata, snapshot), None
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(dumps([str(metadata), snapshot]) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} died with {process.wait(30)} reading {metadata}")
        answer = loads(line)
        if "error" in answer:
            raise CannotRead(answer["error"])
        rows: Rows = answer["rows"]
        return rows

    def stop(self) -> None:
        """May be called again."""
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.wait(30)
            self._process.stdout.close()
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            packages = install(self.name, self.requirements)
            # -I -S: it must not see what is installed for us
            command = [sys.executable, "-I", "-S", str(HERE / self.script), str(packages),
                       str(HERE)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self._process


def all_readers() -> dict[str, Reader]:
    return {reader.name: reader for reader in (
        Reader("duckdb", "read_duckdb.py", DUCKDB, travels=True),
        Reader("iceberg-rust", "read_rust.py", RUST, travels=False))}


def read_pyiceberg(metadata: Path, snapshot: int | None = None) -> Rows:
    """By pyiceberg, in this process. Raises CannotRead when it refuses the table."""
    table = StaticTable.from_metadata(str(metadata))
    try:
        rows: Rows = table.scan(snapshot_id=snapshot).to_arrow().to_pylist()
    except (ValueError, NotImplementedError) as error:
        raise CannotRead(f"{type(error).__name__}: {error}") from None
    return rows


Read = Callable[[Path, int | None], Rows]


def as_of(metadata: Path, snapshot: int) -> Path:
    """A copy of the metadata beside it, with `snapshot` as the table's current one."""
    body = json.loads(metadata.read_text())
    body["current-snapshot-id"] = snapshot
    body["refs"] = {"main": {"snapshot-id": snapshot, "type": "branch"}}
    copy = metadata.with_name(f"as-of-{snapshot}.metadata.json")
    copy.write_text(json.dumps(body))
    return copy


def install(name: str, requirements: tuple[str, ...]) -> Path:
    """A directory with exactly these packages and what they need, apart from our environment.

    Its name holds the pins and the Python they were chosen for, so a change is a new download.
    """
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    pins = "-".join(requirement.rpartition("==")[2] for requirement in requirements[:2])

    def build(into: Path) -> None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run_tool(f"pip-{name}", [*pip, "--target", into, *requirements])

    return build_once(cache_dir() / f"reader-{name}-{pins}-{version}", build)
