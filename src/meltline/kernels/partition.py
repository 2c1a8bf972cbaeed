"""Rows to the partitions of a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema

from meltline.kernels.column_path import column_at, column_path
from meltline.kernels.single_value import single_value
from meltline.kernels.transforms import arrow_transform

Codes = np.ndarray[Any, np.dtype[np.int64]]
_LARGEST_CODE = 1 << 62


class Partitioner:
    """Splits a table of rows by the partition spec. No per-row Python."""

    def __init__(self, schema: Schema, spec: PartitionSpec) -> None:
        self._paths = [column_path(schema, field.source_id) for field in spec.fields]
        self._transforms = [arrow_transform(field.transform, schema.find_type(field.source_id))
                            for field in spec.fields]
        self._types: list[Any] = [f.field_type for f in spec.partition_type(schema).fields]

    def split(self, rows: pa.Table) -> Iterator[tuple[list[Any], pa.Table]]:
        """Each partition's values in Iceberg's JSON form and its rows, once per call, in order."""
        if not self._paths or not rows.num_rows:
            yield [None] * len(self._paths), rows
            return
        columns = [transform(column_at(rows, path)).dictionary_encode(null_encoding="encode")
                   for path, transform in zip(self._paths, self._transforms, strict=True)]
        codes = _combined(columns)
        order = np.argsort(codes, kind="stable")
        sorted_codes = codes[order]
        starts = np.flatnonzero(np.r_[True, sorted_codes[1:] != sorted_codes[:-1]])
        if len(starts) == 1:
            yield self._values(columns, 0), rows
            return
        for start, end in zip(starts, np.r_[starts[1:], len(order)], strict=True):
            # take copies: a slice would keep the whole chunk in memory for one small partition
            yield self._values(columns, int(order[start])), rows.take(pa.array(order[start:end]))

    def _values(self, columns: list[pa.DictionaryArray], row: int) -> list[Any]:
        return [single_value(type_, column.dictionary[column.indices[row].as_py()])
                for type_, column in zip(self._types, columns, strict=True)]


def _combined(columns: list[pa.DictionaryArray]) -> Codes:
    """One number per row; rows of the same partition have the same."""
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    largest = 1
    for column in columns:
        if largest * len(column.dictionary) > _LARGEST_CODE:
            found, codes = np.unique(codes, return_inverse=True)
            largest = len(found)
        codes = codes * len(column.dictionary) + column.indices.to_numpy()
        largest *= len(column.dictionary)
    return codes
