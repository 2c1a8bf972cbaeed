"""One row for each key of an initial load: of several rows of a key all but one are left out.

Which ones is found out once, before anything is loaded, from the key columns alone. It depends on
the snapshot and on nothing else, so it may be found out again after a crash, or by another driver.
"""

from __future__ import annotations

import logging
import pickle
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import starmap
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.schema import Schema

from meltline.engine.protocols import Meet
from meltline.engine.rounds import Piece, tasks_for
from meltline.kernels.batches import batched
from meltline.kernels.connection import connect
from meltline.kernels.duplicates import duplicates
from meltline.kernels.groups import groups
from meltline.kernels.position_mask import merge_positions, pack_positions
from meltline.model.content import FileChange
from meltline.model.table_view import TableView
from meltline.sources.iceberg.netting import Work
from meltline.sources.iceberg.pieces import read_table, split_table, write_table
from meltline.sources.iceberg.units import Limits, Unit, pack

log = logging.getLogger(__name__)

KEYS_A_BUCKET = 2_000_000
SEND_ROWS = 1_000_000
"""So many keys wait in a task until they are sent."""


@dataclass(frozen=True)
class KeyFiles:
    """What one task looks at: files by their rank, the greater the younger."""

    view: TableView
    files: tuple[tuple[int, FileChange], ...]
    buckets: int


@dataclass(frozen=True)
class LeftOut:
    """Rows of one file (see kernels/position_mask.py)."""

    rank: int
    positions: bytes


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
        # without sequence numbers (v1) the order tells: new manifests come first
        by_age = [one for _, one in sorted(
            enumerate(files), key=lambda placed: (placed[1].file.sequence, -placed[0]))]
        ranks = {one.file.path: rank for rank, one in enumerate(by_age)}
        rows = sum(one.file.records for one in files)
        buckets = max(-(-rows // KEYS_A_BUCKET), 1)
        log.info("reading the keys of an initial load", extra={
            "table": view.table, "files": len(files), "rows": rows})
        shares = [KeyFiles(_keys_only(view), tuple(
            (ranks[one.file.path], one) for unit in task for one in unit.changes), buckets)
            for task in pack([Unit("rows", (one,)) for one in files], parallelism, limits)]
        found: dict[int, list[bytes]] = defaultdict(list)
        tasks = tasks_for(buckets, parallelism)
        for part in self._meet(scatter_keys, gather_keys, shares, tasks):
            for one in part:
                found[one.rank].append(one.positions)
        return {by_age[rank].file.path: merge_positions(some) for rank, some in found.items()}


def _keys_only(view: TableView) -> TableView:
    schema = Schema(*view.identifier_fields)
    return replace(view, schema_json=schema.model_dump_json(by_alias=True))


def scatter_keys(share: KeyFiles) -> Iterator[Piece]:
    """The hashes of keys of some files, to where they meet those of the others. Of a key that many
    rows share only a few travel: whoever has a younger one beside it is left out already."""
    ranks = pa.array([rank for rank, _ in share.files], pa.int32())
    with closing(connect()) as connection, closing(Work(connection, share.view)) as work:
        found = work.keyed([change for _, change in share.files], near=True)
        for some in batched(found, lambda keys: keys.num_rows, SEND_ROWS):
            keys = pa.concat_tables(some).select(["k1", "k2", "file", "pos"])
            keys = keys.set_column(2, "file", ranks.take(keys.column("file")))
            spots = duplicates(connection, keys)
            if len(spots):
                for rank, positions in _by_file(keys.take(pa.array(spots))):
                    yield _piece(rank % share.buckets, LeftOut(rank, positions), len(positions))
                keys = keys.take(pa.array(np.delete(np.arange(keys.num_rows), spots)))
            for bucket, part in split_table(keys, "k1", share.buckets):
                yield _piece(bucket, write_table(part), part.nbytes)


def gather_keys(pieces: Sequence[Piece]) -> list[LeftOut]:
    found = [pickle.loads(piece.content) for piece in pieces]
    left_out = [one for one in found if isinstance(one, LeftOut)]
    tables = [read_table(one) for one in found if not isinstance(one, LeftOut)]
    if tables:
        keys = pa.concat_tables(tables)
        with closing(connect()) as connection:
            spots = duplicates(connection, keys)
        left_out += starmap(LeftOut, _by_file(keys.take(pa.array(spots))))
    return left_out


def _by_file(keys: pa.Table) -> Iterator[tuple[int, bytes]]:
    ranks, positions = (keys.column(name).to_numpy() for name in ("file", "pos"))
    for rank, some in groups(ranks):
        yield rank, pack_positions(positions[some])


def _piece(bucket: int, content: LeftOut | bytes, weight: int) -> Piece:
    return Piece(bucket, pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL), weight)
