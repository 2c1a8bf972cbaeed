"""The ledger in the sink's own catalog: a control table per pipeline, its state in properties."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping

from meltline.engine.ledger import LaneState, Owner
from meltline.engine.protocols import Blobs
from meltline.errors import CommitConflict, CommitUnknown, Fenced, PositionLost
from meltline.kernels.storage import open_storage
from meltline.lake.catalog import Catalog
from meltline.lake.commit import swap_properties
from meltline.lake.table import Table
from meltline.sinks.iceberg.summary import LEDGER_OWNER, LEDGER_VERSION, PIPELINE, lane_key

TRIES = 20
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
        with self._io.new_output(address).create(overwrite=False) as stream:
            stream.write(content)
        return address

    def read(self, address: str) -> bytes:
        try:
            with self._io.new_input(address).open() as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            raise PositionLost(
                f"a part of the recorded position is gone: {address}",
                hint="restore the file; without it Meltline cannot tell what was read") from None


class IcebergLedger:
    """See engine.ledger.Ledger. The swap is Iceberg's own commit of table metadata."""

    def __init__(self, table: Table, pipeline: str) -> None:
        self._table = table
        self._pipeline = pipeline
        self._mine: Owner | None = None
        self.blobs: Blobs = TableBlobs(table)

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

        def take(properties: Mapping[str, str]) -> Mapping[str, str]:
            previous[:] = [_owner(properties)]
            return {**properties, LEDGER_OWNER: owner.to_text()}

        self._swap(take, lambda properties: _owner(properties) == owner)
        self._mine = owner
        return previous[0]

    def owner(self) -> Owner | None:
        self._table.refresh()
        return _owner(self._table.properties)

    def load(self, lane: str) -> LaneState | None:
        self._table.refresh()
        text = self._table.properties.get(lane_key(lane))
        return None if text is None else LaneState.from_json(text, self._pipeline, lane)

    def save(self, lane: str, state: LaneState) -> None:
        text = state.to_json()

        def put(properties: Mapping[str, str]) -> Mapping[str, str]:
            self._check_owner(_owner(properties))
            return {**properties, lane_key(lane): text}

        self._swap(put, lambda properties: properties.get(lane_key(lane)) == text)

    def _check_owner(self, found: Owner | None) -> None:
        if found != self._mine:
            raise Fenced(
                f"pipeline {self._pipeline!r} was taken over by {found}; this driver "
                f"({self._mine}) stops and writes nothing more",
                hint="run one driver per pipeline; `meltline status` shows the owner")

    def _swap(
        self, change: Callable[[Mapping[str, str]], Mapping[str, str]],
        landed: Callable[[Mapping[str, str]], bool],
    ) -> None:
        """Repeat until the swap is in. After an unknown outcome, look before the next try."""
        for attempt in range(TRIES):
            try:
                swap_properties(self._table, change)
                return
            except CommitUnknown:
                self._table.refresh()
                if landed(self._table.properties):
                    return
            except CommitConflict:
                if attempt == TRIES - 1:
                    raise


def _owner(properties: Mapping[str, str]) -> Owner | None:
    text = properties.get(LEDGER_OWNER)
    return Owner.from_text(text) if text else None
