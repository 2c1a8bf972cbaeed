"""Initial loads: one event for each key, whichever way the files are cut into tasks and epochs."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from meltline.sources.iceberg.settings import TableSettings
from meltline.sources.iceberg.source import IcebergSource
from meltline.testing import meet_here
from tests.differential.replay import WAYS, Row, plain, read_plans
from tests.warehouse import Warehouse

LOAD_BYTES = (4 << 30, 1)


def check_load(warehouse: Warehouse, identifier: str, key: str) -> int:
    """Of several rows of a key one of the youngest, always the same. Returns how many were left
    out."""
    rows, youngest = _by_key(warehouse, identifier, key)
    first: dict[Any, Row] | None = None
    for limits in WAYS:
        for load_bytes in LOAD_BYTES:
            settings = TableSettings(identifier, (key,), limits=limits, load_bytes=load_bytes)
            source = IcebergSource(lambda: warehouse.catalog.load(identifier), settings, meet_here)
            events = [event for _, found in read_plans(source, None, 3) for event in found]
            loaded = {event["row"][key]: plain(event["row"]) for event in events}
            ids = {event["meta"]["document_id"] for event in events}
            assert len(ids) == len(loaded) == len(events), "a key has two events"
            assert loaded.keys() == youngest.keys()
            assert all(loaded[value] in youngest[value] for value in loaded)
            first = first or loaded
            assert loaded == first, f"{limits}, {load_bytes} bytes an epoch"
    return rows - len(youngest)


def _by_key(
    warehouse: Warehouse, identifier: str, key: str
) -> tuple[int, dict[Any, list[Row]]]:
    """How many rows there are, and by key those in files of the greatest sequence number, as
    Spark tells."""
    name = f"{{c}}.{identifier}"
    sequences = {row["path"]: row["sequence"] for row in warehouse.sql(
        f"SELECT data_file.file_path AS path, sequence_number AS sequence FROM {name}.entries "
        f"WHERE status < 2")}
    found: dict[Any, list[tuple[int, Row]]] = defaultdict(list)
    rows = warehouse.sql(f"SELECT *, _file AS own_file FROM {name}")
    for row in rows:
        found[row[key]].append((sequences[row.pop("own_file")], plain(row)))
    youngest = {value: max(sequence for sequence, _ in some) for value, some in found.items()}
    return len(rows), {value: [row for sequence, row in some if sequence == youngest[value]]
                       for value, some in found.items()}
