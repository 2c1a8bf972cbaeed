"""One row for each key of an initial load: of several rows of a key all but one are left out.

Which ones is found out once, before anything is loaded, from the key columns alone. It depends on
the snapshot and on nothing else, so it may be found out again after a crash, or by another driver.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.schema import Schema
from pyroaring import BitMap64

from meltline.engine.protocols import Meet
from meltline.engine.rounds import Piece, tasks_for
from meltline.kernels.batches import batched
from meltline.kernels.connection import connect
from meltline.kernels.duplicates import duplicates
from meltline.model.content import FileChange
from meltline.model.table_view import TableView
from meltline.sources.iceberg.netting import Work
from meltline.sources.iceberg.pieces import read_table, split_table, write_table
from meltline.sources.iceberg.units import Limits, Unit, pack

log = logging.getLogger(__name__)

KEYS_A_BUCKET = 2_000_000
SEND_ROWS = 1_000_000
"""So many keys wait in a task until they are sent."""

Without = Mapping[int, bytes]
"""Rows to leave out, by the rank of their file: positions as a serialized BitMap64."""


@dataclass(frozen=True)
class KeyFiles:
    """What one task looks at: files by their rank, the greater the younger."""

    view: TableView
    files: tuple[tuple[int, FileChange], ...]
    buckets: int


class LoadKeys:
    """In the driver, for one table. Remembers what it found: a load may take many epochs."""

    def __init__(self, meet: Meet) -> None:
        self._meet = meet
        self._known: tuple[Any, dict[str, bytes]] | None = None

    def one_each(
        self, view: TableView, files: Sequence[FileChange], parallelism: int, limits: Limits
    ) -> list[FileChange]:
        """`files` are all of a snapshot. The same ones, with what is to be left out of each."""
        if not view.identifiers:
            return list(files)
        asked = view.snapshot_id, view.schema_json, view.identifiers
        if self._known is None or self._known[0] != asked:
            self._known = asked, self._find(view, files, parallelism, limits)
        found = self._known[1]
        return [replace(one, without=found.get(one.file.path, b"")) for one in files]

    def forget(self) -> None:
        """The load is done."""
        self._known = None

    def _find(
        self, view: TableView, files: Sequence[FileChange], parallelism: int, limits: Limits
    ) -> dict[str, bytes]:
        by_age = sorted(files, key=lambda one: one.file.sequence)
        ranks = {one.file.path: rank for rank, one in enumerate(by_age)}
        rows = sum(one.file.records for one in files)
        buckets = max(-(-rows // KEYS_A_BUCKET), 1)
        log.info("reading the keys of an initial load", extra={
            "table": view.table, "files": len(files), "rows": rows})
        shares = [KeyFiles(_keys_only(view), tuple(
            (ranks[one.file.path], one) for unit in task for one in unit.changes), buckets)
            for task in pack([Unit("rows", (one,)) for one in files], parallelism, limits)]
        met = self._meet(scatter_keys, gather_keys, shares, tasks_for(buckets, parallelism),
                         f"keys of {view.table}")
        found: dict[int, BitMap64] = defaultdict(BitMap64)
        for part in met:
            for rank, positions in part.items():
                found[rank] |= BitMap64.deserialize(positions)
        return {by_age[rank].file.path: positions.serialize() for rank, positions in found.items()}


def _keys_only(view: TableView) -> TableView:
    schema = Schema(*view.identifier_fields)
    return replace(view, schema_json=schema.model_dump_json(by_alias=True))


def scatter_keys(share: KeyFiles) -> Iterator[Piece]:
    """The hashes of all keys of some files, to where they meet those of the others."""
    ranks = pa.array([rank for rank, _ in share.files], pa.int32())
    with closing(connect()) as connection, closing(Work(connection, share.view)) as work:
        found = work.keyed([change for _, change in share.files], near=True)
        for some in batched(found, lambda keys: keys.num_rows, SEND_ROWS):
            keys = pa.concat_tables(some).select(["k1", "k2", "file", "pos"])
            keys = keys.set_column(2, "file", ranks.take(keys.column("file")))
            for bucket, part in split_table(keys, "k1", share.buckets):
                yield Piece(bucket, write_table(part), part.nbytes)


def gather_keys(pieces: Sequence[Piece]) -> Without:
    keys = pa.concat_tables(read_table(piece.content) for piece in pieces)
    with closing(connect()) as connection:
        found = duplicates(connection, keys)
    owners, places = (found.column(name).to_numpy() for name in ("file", "pos"))
    ranks, starts = np.unique(owners, return_index=True)
    return {int(rank): BitMap64(some.tolist()).serialize()
            for rank, some in zip(ranks, np.split(places, starts[1:]), strict=False)}
