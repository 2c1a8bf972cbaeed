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
from meltline.lake.commit import Fence, Lookup, commit_change
from meltline.lake.table import Table
from meltline.model.file_closed import FileClosed, unique_by_path
from meltline.sinks.iceberg.summary import BATCH_ID, snapshot_summary, token_key

TRIES = 25


def publish_reports(table: Table, epoch: Epoch, reports: Sequence[str], owner: str) -> Published:
    """As a sink publishes: from the workers' reports, with everything metrics want to know."""
    files = unique_by_path(FileClosed.from_json(text) for text in reports)
    began = time.monotonic()
    done = publish_files(table, epoch, files, owner)
    return Published(done.table, done.snapshot_id, done.repeated, done.conflicts, len(files),
                     sum(file.record_count for file in files),
                     sum(len(file.content) for file in files), time.monotonic() - began)


@dataclass(frozen=True)
class PublishedTable:
    """`snapshot_id` is None when the epoch was there already and its snapshot has expired."""

    table: str
    snapshot_id: int | None
    repeated: bool
    conflicts: int = 0


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


def publish_files(
    table: Table, epoch: Epoch, files: Sequence[FileClosed], owner: str,
    sleep: Callable[[float], None] = time.sleep,
) -> PublishedTable:
    """Append the files. See publish_change."""
    change = Change([file.content for file in files])
    rows = sum(file.record_count for file in files)
    return publish_change(table, epoch, owner, lambda: change, rows, sleep=sleep)


def publish_change(
    table: Table, epoch: Epoch, owner: str, plan: Callable[[], Change], rows: int,
    branch: str | None = None, sleep: Callable[[float], None] = time.sleep,
) -> PublishedTable:
    """Commit a change, or find that it was committed. Retries conflicts; never doubles.

    `plan` is asked for the change before each try, with the table refreshed: what it computes from
    the table is then no older than that. `rows` is for the summary."""
    table.refresh()
    known = table.current_snapshot_id(branch)
    batch_id = epoch.batch_id(table.identifier)
    properties = {token_key(epoch.pipeline, epoch.lane):
                  Token.of(epoch, table.identifier).to_json()}
    fence = _fence(epoch, table.identifier)
    conflicts = 0
    while True:
        if (found := find_published(table, epoch, branch)) is not None:
            return found
        try:
            change = plan()
            summary = snapshot_summary(epoch, table.identifier, owner, len(change.data_files),
                                       rows, len(change.delete_files))
            landed = commit_change(table, change, summary, properties, fence, known, branch)
        except (CommitConflict, CommitUnknown) as error:
            conflicts += 1
            if conflicts >= TRIES:
                raise
            # a moved base asks for another look, and the longer it waits, the more there is to see
            sleep(0.0 if isinstance(error, BaseMoved) else min(0.1 * 2**conflicts, 5.0))
        else:
            if landed:
                snapshot_id = table.find_snapshot(BATCH_ID, batch_id, branch=branch)
                return PublishedTable(table.identifier, snapshot_id, False, conflicts)
        table.refresh()


def _fence(epoch: Epoch, table: str) -> Fence:
    key, batch_id = token_key(epoch.pipeline, epoch.lane), epoch.batch_id(table)

    def fence(properties: Lookup, summaries: Iterable[Lookup]) -> bool:
        text = properties(key)
        if already_published(Token.from_json(text) if text else None, epoch, table):
            return False
        return all(summary(BATCH_ID) != batch_id for summary in summaries)

    return fence


def load_token(properties: Mapping[str, str], pipeline: str, lane: str) -> Token | None:
    text = properties.get(token_key(pipeline, lane))
    return Token.from_json(text) if text else None
