"""Publishes an epoch to a table whose earlier rows are found by a key lookup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from meltline.engine.protocols import MapItems
from meltline.engine.sink import Published
from meltline.model.file_closed import DATA, FileClosed, unique_by_path
from meltline.sinks.iceberg.lookup import KeyLookup, Wanted
from meltline.sinks.iceberg.publish import Publisher


def publish_looked_up(
    publisher: Publisher, reports: Sequence[str], identifiers: Sequence[int], mode: str,
    map_items: MapItems, properties: Mapping[str, str] | None = None,
) -> Published:
    """As `Publisher.reports`, for delete modes `position` and `copy-on-write`.

    Key files among the reports only say what to look up; they are never committed, and removed at
    the end. Without any there is nothing to look up: a plain append."""
    files = unique_by_path(FileClosed.from_json(text) for text in reports)
    keys = [file for file in files if file.kind != DATA]
    if not keys:
        return publisher.reports(reports)
    wanted = Wanted([file for file in files if file.kind == DATA], keys, identifiers, mode,
                    properties or {})
    lookup = KeyLookup(publisher.table, publisher.epoch, wanted, map_items, publisher.branch)
    done = publisher.reports(reports, lookup.change)
    lookup.forget_keys()
    return done
