"""Where rows with given keys lie: file and position, from the key columns alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.conversions import from_json
from pyiceberg.io import FileIO
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, IntegerType, LongType, StringType
from pyroaring import BitMap64

from meltline.kernels.arrow_schema import field_id
from meltline.kernels.data_file import open_data_file
from meltline.kernels.key_match import KeyMatch, Positions
from meltline.kernels.keys import Keys
from meltline.model.live_file import LiveFile

AT_ONCE = 1 << 20
"""Rows whose keys are compared at once: the keys are hashed anew for each lot."""

READERS = 8
"""Files opened at the same time by one task: an object store answers late, but many at once."""

Specs = Mapping[int, PartitionSpec]


@dataclass(frozen=True)
class _Piece:
    path: str
    start: int
    keys: pa.Table


def find_rows(
    io: FileIO, files: Sequence[LiveFile], keys: Keys, specs: Specs
) -> dict[str, BitMap64]:
    """The positions of all rows that have one of the keys, deleted or not, by path.

    Null equals null. Only files with such rows are in the answer."""
    candidates = [file for file in files if file.records and keys.may_be_in(file)]
    hits: dict[str, BitMap64] = {}
    with ThreadPoolExecutor(READERS) as pool, KeyMatch(keys.rows) as match:
        for lot in _lots(candidates):
            read = pool.map(lambda file: _read(io, file, keys, specs), lot)
            for path, positions in _match([one for pieces in read for one in pieces], match):
                hits.setdefault(path, BitMap64()).update(BitMap64(positions.astype(np.uint64)))
    return hits


def _read(io: FileIO, file: LiveFile, keys: Keys, specs: Specs) -> list[_Piece]:
    constants = partition_constants(file, specs, keys.columns.schema)
    with open_data_file(io, file.path, file.format) as opened:
        needed = keys.columns.projection.columns(opened.schema)
        return [_Piece(file.path, start, keys.columns.take(piece, constants)) for start, piece
                in opened.pieces(needed, lambda _, group: _wanted(group, opened.schema, keys))]


def partition_constants(file: LiveFile, specs: Specs, schema: Schema) -> dict[int, Any]:
    """Values of identity partitions: a file that was added as it is may lack the column."""
    spec = specs.get(int(file.content["spec-id"]))
    if spec is None:
        return {}
    found = zip(spec.fields, file.content.get("partition", []), strict=True)
    return {field.source_id: from_json(_primitive(schema, field.source_id), value)
            for field, value in found
            if isinstance(field.transform, IdentityTransform) and value is not None
            and schema.find_column_name(field.source_id) is not None}


def _primitive(schema: Schema, id_: int) -> Any:
    return schema.find_type(id_)


def _wanted(group: pq.RowGroupMetaData, schema: pa.Schema, keys: Keys) -> bool:
    """By the statistics in the footer, for the types that Parquet orders as we do."""
    ids = {field_id(field): field.name for field in schema}
    names = {ids.get(id_): place for place, id_ in enumerate(keys.columns.ids)}
    for number in range(group.num_columns):
        column = group.column(number)
        place = names.get(column.path_in_schema)
        if place is None or column.statistics is None or not column.statistics.has_min_max:
            continue
        statistics, type_ = column.statistics, keys.columns.types[place]
        if keys.has_null(place) and statistics.null_count != 0:
            continue
        low, high = statistics.min_raw, statistics.max_raw
        if isinstance(type_, StringType) and isinstance(low, bytes):
            low, high = low.decode(), high.decode()
        elif not (isinstance(type_, IntegerType | LongType | DateType) and isinstance(low, int)):
            continue
        if not keys.any_between(place, low, high):
            return False
    return True


def _lots(files: Iterable[LiveFile]) -> Iterator[list[LiveFile]]:
    lot: list[LiveFile] = []
    rows = 0
    for file in files:
        if lot and rows + file.records > AT_ONCE:
            yield lot
            lot, rows = [], 0
        lot.append(file)
        rows += file.records
    if lot:
        yield lot


def _match(lot: Sequence[_Piece], match: KeyMatch) -> Iterator[tuple[str, Positions]]:
    if not lot:
        return
    rows = pa.concat_tables([piece.keys for piece in lot])
    places = match.rows(rows)
    ends = np.cumsum([piece.keys.num_rows for piece in lot])
    cuts = np.searchsorted(places, ends)
    begin = 0
    for piece, end, cut in zip(lot, ends, cuts, strict=True):
        if cut > begin:
            first = end - piece.keys.num_rows
            yield piece.path, places[begin:cut] - first + piece.start
        begin = cut


def load_specs(texts: Mapping[int, str]) -> Specs:
    return {id_: PartitionSpec.model_validate_json(text) for id_, text in texts.items()}

