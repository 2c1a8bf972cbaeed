"""Publishes an epoch to a table: once, whatever happens in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from meltline.engine.epoch import Epoch
from meltline.engine.sink import Published
from meltline.engine.token import Token, already_published
from meltline.errors import CommitConflict, CommitUnknown
from meltline.lake.commit import Lookup, append_files
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


def find_published(table: Table, epoch: Epoch) -> PublishedTable | None:
    """The epoch's trace in the table: in its properties, or in the history that is left."""
    token = load_token(table.properties, epoch.pipeline, epoch.lane)
    found = already_published(token, epoch, table.identifier)
    snapshot_id = table.find_snapshot(BATCH_ID, epoch.batch_id(table.identifier))
    if snapshot_id is None and not found:
        return None
    return PublishedTable(table.identifier, snapshot_id, repeated=True)


def publish_files(
    table: Table, epoch: Epoch, files: Sequence[FileClosed], owner: str,
    sleep: Callable[[float], None] = time.sleep,
) -> PublishedTable:
    """Commit the files, or find that they were committed. Retries conflicts; never doubles."""
    table.refresh()
    known = table.current_snapshot_id()
    batch_id = epoch.batch_id(table.identifier)
    summary = snapshot_summary(epoch, table.identifier, owner, len(files),
                               sum(file.record_count for file in files))
    token = Token.of(epoch, table.identifier)
    key = token_key(epoch.pipeline, epoch.lane)
    conflicts = 0

    def fence(properties: Lookup, summaries: Iterable[Lookup]) -> bool:
        text = properties(key)
        if already_published(Token.from_json(text) if text else None, epoch, table.identifier):
            return False
        return all(summary(BATCH_ID) != batch_id for summary in summaries)

    while True:
        if (found := find_published(table, epoch)) is not None:
            return found
        try:
            landed = append_files(table, [file.content for file in files], summary,
                                  {key: token.to_json()}, fence, stop_at=known)
        except (CommitConflict, CommitUnknown):
            conflicts += 1
            if conflicts >= TRIES:
                raise
            sleep(min(0.1 * 2**conflicts, 5.0))
        else:
            if landed:
                snapshot_id = table.find_snapshot(BATCH_ID, batch_id)
                return PublishedTable(table.identifier, snapshot_id, False, conflicts)
        table.refresh()


def load_token(properties: Mapping[str, str], pipeline: str, lane: str) -> Token | None:
    text = properties.get(token_key(pipeline, lane))
    return Token.from_json(text) if text else None
