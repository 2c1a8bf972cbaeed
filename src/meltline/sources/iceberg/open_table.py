"""One table, opened in the driver: its metadata and what its manifests say."""

from __future__ import annotations

from collections.abc import Sequence

from meltline.kernels.storage import open_storage
from meltline.lake.history import HistoryReader
from meltline.lake.table import Table
from meltline.model.content import FileChange
from meltline.model.history import Snapshot, TableHistory
from meltline.model.table_view import parse_schema
from meltline.sources.iceberg.ancestry import APPEND
from meltline.sources.iceberg.bounds import may_match
from meltline.sources.iceberg.manifests import Manifest, ManifestReader
from meltline.sources.iceberg.planner import appended, changes, compare, contents


class OpenTable:
    """`history` asks the catalog; everything else reads files that never change."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._history = HistoryReader(table)
        self._manifests = ManifestReader(open_storage(table.io_properties))

    @property
    def io_properties(self) -> dict[str, str]:
        return self.table.io_properties

    def history(self) -> TableHistory:
        return self._history.read()

    def contents(self, history: TableHistory, snapshot: Snapshot) -> list[FileChange]:
        """The whole table at a snapshot, as files that were added."""
        return contents(self._of(snapshot), self._manifests.live, history.unpartitioned,
                        may_match(self.types(history)))

    def changes(
        self, history: TableHistory, snapshot: Snapshot, before: Snapshot | None
    ) -> Sequence[FileChange]:
        """The difference of two snapshots; `before` None is an empty table."""
        old = [] if before is None else self._of(before)
        difference = compare(old, self._of(snapshot), self._manifests.live, history.unpartitioned)
        return changes(difference, may_match(self.types(history)))

    def added(self, snapshot: Snapshot) -> list[FileChange] | None:
        """What an append added, whether its parent is there or not; None for any other one."""
        if snapshot.operation != APPEND:
            return None
        return appended(self._manifests.written(manifest, snapshot.snapshot_id)
                        for manifest in self._of(snapshot))

    def types(self, history: TableHistory) -> dict[int, str]:
        """Types of top-level columns by field id; the newest schema has the widest."""
        return {field.field_id: str(field.field_type)
                for _, text in sorted(history.schemas.items())
                for field in parse_schema(text, self.table.identifier).fields}

    def _of(self, snapshot: Snapshot) -> list[Manifest]:
        return self._manifests.manifests(snapshot.manifest_list)
