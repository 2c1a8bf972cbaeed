"""A ledger in one local file, for sinks that cannot remember."""

from __future__ import annotations

import sqlite3
import uuid
from pathlib import Path

from meltline.engine.ledger import LaneState, Owner, taken_over
from meltline.engine.protocols import Blobs
from meltline.errors import PositionLost, Retryable, UserError

PATIENCE = 30.0
"""Seconds that a driver waits for another one to let go of the file."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS owners (pipeline TEXT PRIMARY KEY, owner TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS lanes (
  pipeline TEXT NOT NULL, lane TEXT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (pipeline, lane));
CREATE TABLE IF NOT EXISTS identity (id TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS blobs (address TEXT PRIMARY KEY, content BLOB NOT NULL);
"""


class SqliteBlobs:
    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, name: str, content: bytes) -> str:
        address = f"{name}-{uuid.uuid4().hex}"
        with _connect(self._path) as connection:
            connection.execute("INSERT INTO blobs VALUES (?, ?)", (address, content))
        return address

    def read(self, address: str) -> bytes:
        with _connect(self._path) as connection:
            row = connection.execute(
                "SELECT content FROM blobs WHERE address = ?", (address,)).fetchone()
        if row is None:
            raise PositionLost(f"a part of the recorded position is gone: {address}",
                               hint=f"restore the ledger file {self._path}")
        return bytes(row[0])


class SqliteLedger:
    """See engine.ledger.Ledger. The swap is an immediate transaction that checks the owner."""

    def __init__(self, path: Path, pipeline: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"the ledger file {path} cannot be made: {error.strerror}",
                            hint="ledger.sqlite.path must be in a folder that can be "
                                 "written") from None
        self._path = path
        self._pipeline = pipeline
        self._mine: Owner | None = None
        self.blobs: Blobs = SqliteBlobs(path)
        with _connect(path) as connection:
            connection.executescript(_SCHEMA)
        with _connect(path) as connection:
            connection.execute("INSERT INTO identity SELECT ? WHERE NOT EXISTS "
                               "(SELECT 1 FROM identity)", (uuid.uuid4().hex,))
            self.identity = str(connection.execute("SELECT id FROM identity").fetchone()[0])

    def claim(self, owner: Owner) -> Owner | None:
        with _connect(self._path) as connection:
            previous = self._owner(connection)
            connection.execute("INSERT OR REPLACE INTO owners VALUES (?, ?)",
                               (self._pipeline, owner.to_text()))
        self._mine = owner
        return previous

    def owner(self) -> Owner | None:
        with _connect(self._path) as connection:
            return self._owner(connection)

    def load(self, lane: str) -> LaneState | None:
        with _connect(self._path) as connection:
            row = connection.execute(
                "SELECT state FROM lanes WHERE pipeline = ? AND lane = ?",
                (self._pipeline, lane)).fetchone()
        return None if row is None else LaneState.from_json(row[0], self._pipeline, lane)

    def save(self, lane: str, state: LaneState) -> None:
        with _connect(self._path) as connection:
            found = self._owner(connection)
            if found != self._mine:
                raise taken_over(self._pipeline, self._mine, found)
            connection.execute("INSERT OR REPLACE INTO lanes VALUES (?, ?, ?)",
                               (self._pipeline, lane, state.to_json()))

    def _owner(self, connection: sqlite3.Connection) -> Owner | None:
        row = connection.execute(
            "SELECT owner FROM owners WHERE pipeline = ?", (self._pipeline,)).fetchone()
        return Owner.from_text(row[0]) if row else None


class _connect:
    """One immediate transaction: committed at the end, rolled back on an error, then closed."""

    def __init__(self, path: Path) -> None:
        try:
            self._connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        except sqlite3.OperationalError as error:
            raise UserError(f"the ledger file {path} cannot be opened: {error}") from None
        self._path = path

    def __enter__(self) -> sqlite3.Connection:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            self._connection.close()
            # another program holds it, or the disk is full: both may pass
            raise Retryable(f"the ledger file {self._path} cannot be written: {error}") from None
        return self._connection

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("COMMIT" if kind is None else "ROLLBACK")
        finally:
            self._connection.close()
