"""Looks at the tables without Spark and without Meltline: pyiceberg and the catalog's own file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.table import StaticTable


class Lake:
    """The demo's catalog, opened for reading."""

    def __init__(self, home: Path) -> None:
        self._catalog = home / "catalog.db"

    def table(self, identifier: str) -> StaticTable:
        namespace, _, name = identifier.rpartition(".")
        query = (
            "SELECT metadata_location FROM iceberg_tables "
            "WHERE table_namespace = ? AND table_name = ?"
        )
        with closing(sqlite3.connect(self._catalog)) as connection:
            row = connection.execute(query, (namespace, name)).fetchone()
        if row is None:
            raise LookupError(f"there is no table {identifier} in {self._catalog}")
        return StaticTable.from_metadata(row[0])

    def rows(self, identifier: str) -> pa.Table:
        return self.table(identifier).scan().to_arrow()

    def snapshots(self, identifier: str) -> list[dict[str, str]]:
        """The summaries of a table's snapshots, oldest first, each with its id."""
        found = []
        for snapshot in self.table(identifier).metadata.snapshots:
            summary = dict(snapshot.summary.additional_properties) if snapshot.summary else {}
            found.append(summary | {"snapshot-id": str(snapshot.snapshot_id)})
        return found

    def ledger(self) -> dict[str, Any]:
        """What the pipeline's control table says of its lane."""
        properties = self.table("meltline.shop").properties
        state: dict[str, Any] = json.loads(properties["meltline.ledger.lane.files"])
        return state
