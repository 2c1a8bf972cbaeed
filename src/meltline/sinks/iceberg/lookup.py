"""Turns keys whose earlier rows must go into a change: looks them up, and remembers what it found.

Asked again after a conflict, it only reads data files that it has not seen, and only writes again
for files whose deletes are no longer the same: beside a writer that never stops, each further look
is small."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TypeVar

from meltline.engine.epoch import Epoch
from meltline.engine.protocols import MapItems
from meltline.kernels.key_filter import FEW, between_bounds, listed_keys
from meltline.kernels.keys import KeyColumns, Keys
from meltline.kernels.storage import open_storage
from meltline.lake.change import Basis, Change
from meltline.lake.scan import Scan, scan_files
from meltline.lake.table import Table
from meltline.model import lineage
from meltline.model.file_closed import FileClosed
from meltline.model.live_file import LiveFile
from meltline.model.target import TableTarget
from meltline.sinks.iceberg.grouping import group_files
from meltline.sinks.iceberg.patch import (
    COPY_ON_WRITE,
    VECTORS_SINCE,
    Candidate,
    Patch,
    PatchSettings,
    find_in_files,
    patch_files,
)

Made = TypeVar("Made")

NO_HITS = b""
"""Kept for a file without any: it need not be read again."""


@dataclass(frozen=True)
class Wanted:
    """What an epoch does to a table: rows to add, and keys whose earlier rows must go.

    `identifiers` are the field ids of the key files' columns, `mode` is position or copy-on-write,
    `properties` are write properties that go before the table's own."""

    data_files: Sequence[FileClosed]
    key_files: Sequence[FileClosed]
    identifiers: Sequence[int]
    mode: str
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass
class KeyLookup:
    """`change` is a sinks.iceberg.publish.Compute."""

    table: Table
    epoch: Epoch
    wanted: Wanted
    map_items: MapItems
    branch: str | None = None
    _hits: dict[str, bytes] = field(default_factory=dict)
    _patches: list[tuple[Patch, Mapping[str, LiveFile]]] = field(default_factory=list)

    def change(self) -> Change:
        """From the table as it is: it must have been refreshed."""
        own = self.table.target()
        target = replace(own, properties={**own.properties, **self.wanted.properties})
        where = self._where(target)
        names = [str(target.schema.find_column_name(id_)) for id_ in self.wanted.identifiers]
        scan = scan_files(self.table, names, where, self.branch)
        live = {file.path: file for file in scan.files}
        self._patches = [(patch, seen) for patch, seen in self._patches if _holds(seen, live)]
        self._look(target, scan)
        return self._change(target, scan, live, where)

    def forget_keys(self) -> None:
        """The key files have served: nothing refers to them, committed or not."""
        for file in self.wanted.key_files:
            self.table.delete_file(file.path)

    def _look(self, target: TableTarget, scan: Scan) -> None:
        """Look up and patch at once; to rewrite files it is better known first which, and how
        many of them."""
        run = _Run(self.map_items, self.epoch, self._settings(target, scan))
        unseen = [Candidate(file) for file in scan.files if file.path not in self._hits]
        if self.wanted.mode == COPY_ON_WRITE:
            self._hits.update({path: hits for found in run(find_in_files, unseen)
                               for path, hits in found.items()})
            self._hits = {**{one.file.path: NO_HITS for one in unseen}, **self._hits}
            unseen = []
        done = {path for patch, _ in self._patches for path in patch.paths}
        stale = [file.path for file in scan.files if file.path not in done
                 and self._hits.get(file.path, NO_HITS) != NO_HITS]
        if self.wanted.mode == COPY_ON_WRITE and target.format_version >= lineage.SINCE:
            scan = scan.with_sequence_numbers(frozenset(stale))
        live = {file.path: file for file in scan.files}
        again = [Candidate(live[path], self._hits[path]) for path in stale]
        for outcome in run(patch_files, [*unseen, *again]):
            self._hits.update(outcome.hits)
            self._patches += [(patch, {path: live[path] for path in patch.paths})
                              for patch in outcome.patches]
        self._hits = {**{one.file.path: NO_HITS for one in unseen}, **self._hits}

    def _settings(self, target: TableTarget, scan: Scan) -> PatchSettings:
        return PatchSettings(
            target, tuple(self.wanted.identifiers),
            tuple(file.path for file in self.wanted.key_files), self.wanted.mode, scan.specs,
            f"{target.data_location}/{self.epoch.pipeline}/epoch={self.epoch.number}/lookup")

    def _change(
        self, target: TableTarget, scan: Scan, live: Mapping[str, LiveFile], where: str | None
    ) -> Change:
        patches = [patch for patch, _ in self._patches]
        touched = [live[path] for patch in patches for path in patch.paths]
        rewritten = touched if self.wanted.mode == COPY_ON_WRITE else []
        replaced = (rewritten if rewritten else
                    touched if target.format_version >= VECTORS_SINCE else [])
        return Change(
            data_files=[*(file.content for file in self.wanted.data_files),
                        *(text for patch in patches for text in patch.data_files)],
            delete_files=[text for patch in patches for text in patch.delete_files],
            removed_data_files=[json.dumps(file.content) for file in rewritten],
            removed_delete_files=[json.dumps(one) for file in replaced
                                  for one in file.own_deletes],
            basis=Basis(scan.snapshot_id, [file.path for file in touched],
                        self._conflicts(target, rewritten, where)))

    def _conflicts(
        self, target: TableTarget, rewritten: Sequence[LiveFile], where: str | None
    ) -> str | None:
        """A file that is rewritten must not get deletes meanwhile, whatever rows they are about."""
        if not rewritten:
            return where
        contents = [*self._key_contents, *(file.content for file in rewritten)]
        return between_bounds(target.schema, self.wanted.identifiers, contents, nulls=True)

    def _where(self, target: TableTarget) -> str | None:
        if self._few is not None:
            columns = KeyColumns(target.schema, self.wanted.identifiers, target.properties)
            return listed_keys(target.schema, Keys(columns, self._few.rows))
        return between_bounds(target.schema, self.wanted.identifiers, self._key_contents)

    @cached_property
    def _few(self) -> Keys | None:
        """The keys themselves when there are so few that the driver may look at them."""
        if sum(file.record_count for file in self.wanted.key_files) > FEW:
            return None
        target = self.table.target()
        columns = KeyColumns(target.schema, self.wanted.identifiers, {})
        return Keys.read(open_storage(target.io_properties),
                         [file.path for file in self.wanted.key_files], columns)

    @cached_property
    def _key_contents(self) -> list[dict[str, object]]:
        return [json.loads(file.content) for file in self.wanted.key_files]


@dataclass(frozen=True)
class _Run:
    """Calls a function of sinks.iceberg.patch for all files, spread over tasks."""

    map_items: MapItems
    epoch: Epoch
    settings: PatchSettings

    def __call__(
        self, function: Callable[[PatchSettings, Sequence[Candidate], str], Made],
        candidates: Sequence[Candidate],
    ) -> list[Made]:
        groups = group_files(candidates, self.epoch.parallelism, keep_partitions=(
            self.settings.target.format_version < VECTORS_SINCE))
        return self.map_items(
            partial(function, self.settings), groups,
            f"{self.epoch.label} keys", self.epoch.pipeline)


def _holds(seen: Mapping[str, LiveFile], live: Mapping[str, LiveFile]) -> bool:
    return all(path in live and live[path].deleted_by == file.deleted_by
               for path, file in seen.items())
