"""Publishes an epoch to a table: once, whatever happens in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from meltline.engine.epoch import Epoch
from meltline.engine.sink import Published
from meltline.engine.token import Token, already_published
from meltline.errors import BaseMoved, CommitConflict, CommitUnknown
from meltline.lake.change import Change
from meltline.lake.commit import Lookup, commit_change
from meltline.lake.table import Table
from meltline.model.file_closed import DATA, FileClosed, unique_by_path
from meltline.sinks.iceberg.summary import BATCH_ID, snapshot_summary, token_key

TRIES = 25

Compute = Callable[[], Change]
"""Works out, from the table as it is now, what to commit. Called before each try."""


@dataclass(frozen=True)
class PublishedTable:
    """`snapshot_id` is None when the epoch was there already and its snapshot has expired."""

    table: str
    snapshot_id: int | None
    repeated: bool
    conflicts: int = 0


@dataclass(frozen=True)
class Publisher:
    """One epoch on its way to one table, or to a branch of it.

    `check` raises when what was written does not fit the table as it is now. It is asked on every
    try."""

    table: Table
    epoch: Epoch
    owner: str
    branch: str | None = None
    check: Callable[[], None] = lambda: None
    sleep: Callable[[float], None] = time.sleep

    def reports(self, texts: Sequence[str], compute: Compute | None = None) -> Published:
        """As a sink publishes: from the workers' reports, with everything metrics want to know.

        Without `compute` the files are committed as they are reported."""
        files = unique_by_path(FileClosed.from_json(text) for text in texts)
        began = time.monotonic()
        done = self.publish(files, compute or (lambda: change_of(files)))
        data = [file for file in files if file.kind == DATA]
        keys = [file for file in files if file.kind != DATA]
        return Published(done.table, done.snapshot_id, done.repeated, done.conflicts, len(data),
                         sum(file.record_count for file in data),
                         sum(len(file.content) for file in files), time.monotonic() - began,
                         sum(file.record_count for file in keys), len(keys))

    def publish(self, files: Sequence[FileClosed], compute: Compute) -> PublishedTable:
        """Commit the change, or find that it was committed. Retries conflicts; never doubles."""
        table, epoch = self.table, self.epoch
        table.refresh()
        known = table.current_snapshot_id(self.branch)
        batch_id = epoch.batch_id(table.identifier)
        token = Token.of(epoch, table.identifier)
        key = token_key(epoch.pipeline, epoch.lane)
        conflicts = 0

        def fence(properties: Lookup, summaries: Iterable[Lookup]) -> bool:
            text = properties(key)
            if already_published(Token.from_json(text) if text else None, epoch, table.identifier):
                return False
            self.check()
            return all(summary(BATCH_ID) != batch_id for summary in summaries)

        while True:
            if (found := find_published(table, epoch, self.branch)) is not None:
                return found
            try:
                change = compute()
                landed = commit_change(table, change, self._summary(files, change),
                                       {key: token.to_json()}, fence, known, self.branch)
            except (CommitConflict, CommitUnknown) as error:
                conflicts += 1
                if conflicts >= TRIES:
                    raise
                # after a moved base there is the more to look at, the longer one waits
                self.sleep(0.0 if isinstance(error, BaseMoved) else min(0.1 * 2**conflicts, 5.0))
            else:
                if landed:
                    snapshot_id = table.find_snapshot(BATCH_ID, batch_id, branch=self.branch)
                    return PublishedTable(table.identifier, snapshot_id, False, conflicts)
            table.refresh()

    def _summary(self, files: Sequence[FileClosed], change: Change) -> Mapping[str, str]:
        rows = sum(file.record_count for file in files if file.kind == DATA)
        keys = sum(file.record_count for file in files if file.kind != DATA)
        return snapshot_summary(self.epoch, self.table.identifier, self.owner,
                                len(change.data_files), len(change.delete_files), rows, keys)


def change_of(files: Sequence[FileClosed]) -> Change:
    """The files as they are: rows to add, and keys to delete by value."""
    return Change([file.content for file in files if file.kind == DATA],
                  [file.content for file in files if file.kind != DATA])


def find_published(
    table: Table, epoch: Epoch, branch: str | None = None
) -> PublishedTable | None:
    """The epoch's trace in the table: in its properties, or in the history that is left."""
    token = load_token(table.properties, epoch.pipeline, epoch.lane)
    found = already_published(token, epoch, table.identifier)
    snapshot_id = table.find_snapshot(BATCH_ID, epoch.batch_id(table.identifier), branch=branch)
    if snapshot_id is None and not found:
        return None
    return PublishedTable(table.identifier, snapshot_id, repeated=True)


def load_token(properties: Mapping[str, str], pipeline: str, lane: str) -> Token | None:
    text = properties.get(token_key(pipeline, lane))
    return Token.from_json(text) if text else None
