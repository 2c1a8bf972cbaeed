"""The ledger in the sink's own catalog: a control table per pipeline, its state in properties."""

from __future__ import annotations

import json
import logging
import re
import time
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress

from meltline.engine.ledger import LaneState, Owner, taken_over
from meltline.engine.protocols import Blobs
from meltline.errors import CommitConflict, CommitUnknown, PositionLost, Retryable, RunError
from meltline.kernels.storage import open_storage
from meltline.lake.catalog import Catalog
from meltline.lake.commit import Fence, Lookup, append_files
from meltline.lake.jvm import java_errors
from meltline.lake.table import Table
from meltline.sinks.iceberg.summary import LEDGER_OWNER, LEDGER_VERSION, PIPELINE, lane_key

log = logging.getLogger("meltline.ledger")

TRIES = 12
KEPT_SNAPSHOTS = 30
_SCHEMA = json.dumps({"type": "struct", "schema-id": 0, "fields": [
    {"id": 1, "name": "lane", "required": False, "type": "string",
     "doc": "no rows: the state is in the table's properties"}]})
_PROPERTIES = {
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "10",
    LEDGER_VERSION: "1",
}


def control_table_name(namespace: str, pipeline: str) -> str:
    """A name that every catalog takes, and another one for every pipeline."""
    plain = re.sub(r"[^a-z0-9_]", "_", pipeline.lower())
    if plain != pipeline:
        plain += "_" + uuid.uuid5(uuid.NAMESPACE_OID, pipeline).hex[:6]
    return f"{namespace}.{plain}"


class TableBlobs:
    """Files beside the control table's metadata."""

    def __init__(self, table: Table) -> None:
        self._io = open_storage(table.io_properties)
        self._location = table.location

    def write(self, name: str, content: bytes) -> str:
        address = f"{self._location}/positions/{name}-{uuid.uuid4().hex}"
        try:
            with self._io.new_output(address).create(overwrite=False) as stream:
                stream.write(content)
        except OSError as error:
            raise Retryable(f"a part of the position cannot be stored: {error}") from None
        return address

    def read(self, address: str) -> bytes:
        try:
            with self._io.new_input(address).open() as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            raise PositionLost(
                f"a part of the recorded position is gone: {address}",
                hint="restore the file; without it Meltline cannot tell what was read") from None
        except OSError as error:
            raise Retryable(f"a part of the position cannot be read: {error}") from None


class IcebergLedger:
    """See engine.ledger.Ledger. The swap is Iceberg's own commit, fenced by the owner."""

    def __init__(self, table: Table, pipeline: str) -> None:
        self._table = table
        self._pipeline = pipeline
        self._mine: Owner | None = None
        self.blobs: Blobs = TableBlobs(table)
        self.identity = str(table.java.uuid())

    @classmethod
    def open(cls, catalog: Catalog, namespace: str, pipeline: str) -> IcebergLedger:
        """Creates the control table when it is not there."""
        name = control_table_name(namespace, pipeline)
        table = catalog.load(name)
        if table is None:
            table = catalog.create(name, _SCHEMA, None, {**_PROPERTIES, PIPELINE: pipeline})
        return cls(table, pipeline)

    @classmethod
    def find(cls, catalog: Catalog, namespace: str, pipeline: str) -> IcebergLedger | None:
        """For readers: never creates."""
        table = catalog.load(control_table_name(namespace, pipeline))
        return None if table is None else cls(table, pipeline)

    def claim(self, owner: Owner) -> Owner | None:
        previous: list[Owner | None] = []

        def take(properties: Lookup, _: Iterable[Lookup]) -> bool:
            previous[:] = [_owner(properties)]
            return True

        self._commit({LEDGER_OWNER: owner.to_text()}, take)
        self._mine = owner
        return previous[0]

    def owner(self) -> Owner | None:
        self._table.refresh()
        return _owner(self._table.properties.get)

    def load(self, lane: str) -> LaneState | None:
        self._table.refresh()
        text = self._table.properties.get(lane_key(lane))
        return None if text is None else LaneState.from_json(text, self._pipeline, lane)

    def save(self, lane: str, state: LaneState) -> None:
        def mine(properties: Lookup, _: Iterable[Lookup]) -> bool:
            self._check_owner(_owner(properties))
            return True

        self._commit({lane_key(lane): state.to_json()}, mine)

    def _check_owner(self, found: Owner | None) -> None:
        if found != self._mine:
            raise taken_over(self._pipeline, self._mine, found)

    def _commit(self, changes: Mapping[str, str], fence: Fence) -> None:
        """Repeat until the change is in. After an unknown outcome, look before the next try.

        An empty snapshot comes along: it is what makes every catalog compare. A REST catalog
        compares the branch, and takes a change of properties alone from whoever comes.
        """
        for attempt in range(TRIES):
            try:
                append_files(self._table, [], {}, changes, fence)
                self._forget_snapshots()
                return
            except (CommitUnknown, CommitConflict) as error:
                self._table.refresh()
                properties = self._table.properties
                if all(properties.get(key) == value for key, value in changes.items()):
                    return
                if attempt == TRIES - 1:
                    raise
                log.debug("ledger written again", extra={"reason": error.what})
                time.sleep(min(0.05 * 2**attempt, 2.0))

    def _forget_snapshots(self) -> None:
        """Only the newest one matters."""
        if self._table.java.operations().current().snapshots().size() > KEPT_SNAPSHOTS:
            # housekeeping: whatever it meets, it must not stop a lane
            with suppress(RunError), java_errors("cannot expire snapshots of the ledger"):
                now = int(time.time() * 1000)
                self._table.java.expireSnapshots().expireOlderThan(now).retainLast(1).commit()


def _owner(properties: Lookup) -> Owner | None:
    text = properties(LEDGER_OWNER)
    return Owner.from_text(text) if text else None
