"""The live files of a table, many at once: a handful of Py4J calls, however many files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from meltline.lake.content_files import java_list
from meltline.lake.jvm import java_errors
from meltline.lake.table import Table
from meltline.model.live_file import LiveFile


@dataclass(frozen=True)
class Scan:
    """What a branch held when it was looked at. `specs` are partition specs as JSON, by id."""

    snapshot_id: int | None
    files: Sequence[LiveFile]
    specs: Mapping[int, str]
    _tasks: Any = None

    def with_sequence_numbers(self, paths: frozenset[str]) -> Scan:
        """The same files; those with such a path know their data sequence number.

        Content-file JSON has no place for it, so it costs a call per file."""
        files = [replace(file, sequence_number=int(
                    self._tasks.get(place).file().dataSequenceNumber()))
                 if file.path in paths else file for place, file in enumerate(self.files)]
        return replace(self, files=files)


def scan_files(
    table: Table, columns: Sequence[str] = (), where: str | None = None, branch: str | None = None
) -> Scan:
    """Files that may hold rows for which `where` (an Iceberg expression as JSON) is true, with the
    bounds of `columns`. The table must have been refreshed. A branch that does not exist yet
    begins at the main one."""
    jvm = table.jvm.iceberg
    with java_errors(f"cannot plan a scan of table {table.identifier}"):
        scan = table.java.newScan().ignoreResiduals()
        if branch is not None and table.java.refs().get(branch) is not None:
            scan = scan.useRef(branch)
        if columns:
            scan = scan.includeColumnStats(java_list(table, columns))
        if where is not None:
            scan = scan.filter(jvm.expressions.ExpressionParser.fromJson(where, scan.schema()))
        snapshot = scan.snapshot()
        if snapshot is None:
            return Scan(None, (), {})
        tasks = jvm.relocated.com.google.common.collect.Lists.newArrayList(scan.planFiles())
        files = _live_files(_response(table, tasks))
        specs = {int(id_): str(jvm.PartitionSpecParser.toJson(spec))
                 for id_, spec in dict(table.java.specs()).items()}
        return Scan(int(snapshot.snapshotId()), files, specs, tasks)


def _response(table: Table, tasks: Any) -> dict[str, Any]:
    """All tasks as the one JSON that a REST catalog answers with when it plans a scan."""
    rest = table.jvm.iceberg.rest
    builder = rest.responses.PlanTableScanResponse.builder(table.java.specs())
    builder = builder.withFileScanTasks(tasks).withPlanStatus(rest.PlanStatus.COMPLETED)
    text = rest.responses.PlanTableScanResponseParser.toJson(builder.build())
    body: dict[str, Any] = json.loads(text)
    return body


def _live_files(response: Mapping[str, Any]) -> list[LiveFile]:
    deletes = response.get("delete-files", [])
    return [LiveFile(task["data-file"],
                     tuple(deletes[i] for i in task.get("delete-file-references", [])))
            for task in response.get("file-scan-tasks", [])]
