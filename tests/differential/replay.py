"""Events of a change source put together again, and what Spark says the table holds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pyspark.sql.types import VariantVal

from meltline.engine.rounds import Piece
from meltline.kernels.variant_json import variant_json
from meltline.model.plan import Plan, Position, Split
from meltline.sources.iceberg.reader import IcebergReader
from meltline.sources.iceberg.settings import TableSettings
from meltline.sources.iceberg.source import IcebergSource
from meltline.sources.iceberg.units import Limits
from meltline.spark.arrivals import Arrivals
from meltline.spark.rounds import Arrived
from meltline.testing import meet_here
from tests.warehouse import Warehouse

Row = dict[str, Any]
NO_BLOBS: Any = None
WAYS = (Limits(), Limits(split_size=1), Limits(split_size=1, group_rows=1))
"""Everything in one task; every unit in a task of its own; every group too big for a task."""


def read_split(reader: IcebergReader, splits: Sequence[Split]) -> Iterator[Row]:
    """As Spark does it: every split in a task of its own, pieces meeting by bucket."""
    if not splits:
        return
    if len(splits) == 1 or not reader.rounds(splits[0]):
        for split in splits:
            for _, table in reader.open(split):
                yield from table.to_pylist()
        return
    buckets = reader.buckets(splits[0])
    found = _met([reader.scatter(split) for split in splits])
    for _ in range(1, reader.rounds(splits[0])):
        found = _met([reader.scatter_again(group, buckets)
                      for arrivals in found for group in arrivals.groups()])
    for task, arrivals in enumerate(found):
        for _, table in Arrived(reader, arrivals).open(Split({"task": task})):
            yield from table.to_pylist()


def _met(sent: Sequence[Iterator[Piece]], tasks: int = 2) -> list[Arrivals]:
    """A few bytes in memory, a few at once: all ways that pieces go are gone."""
    found = [Arrivals(held=1 << 14, together=1 << 13) for _ in range(tasks)]
    for origin, pieces in enumerate(sent):
        for number, piece in enumerate(pieces):
            found[piece.bucket % tasks].add((origin, number), piece)
    return found


def read_plans(
    source: IcebergSource, after: Position | None, parallelism: int
) -> Iterator[tuple[Plan, list[Row]]]:
    while (plan := source.plan(after, NO_BLOBS)) is not None:
        splits = source.splits(plan, parallelism, NO_BLOBS)
        rows = list(read_split(source.reader(), splits))
        assert len({row["ord"] for row in rows}) == len(rows)
        yield plan, rows
        after = plan.end


def apply(state: dict[str, Row], events: Sequence[Row]) -> None:
    """No key may have two events in one snapshot, and each must fit what is there."""
    ids = [event["meta"]["document_id"] for event in events]
    assert len(set(ids)) == len(ids), "a key has two events in one snapshot"
    for event in events:
        key, operation = event["meta"]["document_id"], event["meta"]["iceberg_operation"]
        if operation == "DELETE":
            assert plain(state.pop(key)) == plain(event["row"])
        elif operation == "UPDATE_AFTER":
            assert plain(state[key]) != plain(event["row"]), "an update that changes nothing"
            state[key] = event["row"]
        else:
            assert operation == "INSERT"
            assert key not in state
            state[key] = event["row"]


def check_replay(
    warehouse: Warehouse, identifier: str, key: tuple[str, ...], ways: Sequence[Limits]
) -> int:
    """Events of every way give the table at every snapshot; returns how many there were.

    No value of a key may have a character that document ids escape.
    """
    expected: dict[int, dict[str, Row]] = {}
    count = 0
    for limits in ways:
        settings = TableSettings(identifier, key, export=False, start_from="earliest",
                                 limits=limits)
        source = IcebergSource(lambda: warehouse.catalog.load(identifier), settings, meet_here)
        state: dict[str, Row] = {}
        for plan, events in read_plans(source, None, 3):
            apply(state, events)
            count += len(events)
            if plan.data["kind"] != "change":
                assert events == []
                continue
            snapshot = plan.data["snapshot"]
            if snapshot not in expected:
                expected[snapshot] = {_id(row, key): plain(row) for row in rows_at(
                    warehouse, identifier, snapshot)}
            shown = {id_: plain(row) for id_, row in state.items()}
            assert shown == expected[snapshot], f"snapshot {snapshot}"
    return count


def _id(row: Row, key: tuple[str, ...]) -> str:
    return "-".join("\\N" if row[name] is None else str(row[name]) for name in key)


def rows_at(warehouse: Warehouse, identifier: str, snapshot_id: int) -> list[Row]:
    frame = (warehouse.spark.read.option("versionAsOf", snapshot_id)
             .format("iceberg").load(f"{warehouse.name}.{identifier}"))
    return [row.asDict(recursive=True) for row in frame.collect()]


def plain(value: Any) -> Any:
    """Values that compare the same, whether Spark or Arrow made them. Columns that are null are
    left out: a row keeps its image from before a column was added or dropped."""
    if isinstance(value, VariantVal):
        return variant_json(bytes(value.metadata), bytes(value.value))
    if isinstance(value, Mapping) and value.keys() == {"metadata", "value"}:
        return variant_json(value["metadata"], value["value"])
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        if value and all(isinstance(one, tuple) and len(one) == 2 for one in value):
            return {key: plain(inner) for key, inner in value if inner is not None}
        return [plain(inner) for inner in value]
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, float) and value == 0:
        return repr(value)
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return value
