"""Rows to the partitions of a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.conversions import to_json
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform, VoidTransform

Key = tuple[Any, ...]


class Partitioner:
    """Splits a table of rows by the partition spec. No per-row Python."""

    def __init__(self, schema: Schema, spec: PartitionSpec) -> None:
        self._fields = list(spec.fields)
        self._paths = [_path(schema, field.source_id) for field in self._fields]
        self._transforms = [
            None if isinstance(f.transform, IdentityTransform)
            else f.transform.pyarrow_transform(schema.find_type(f.source_id))
            for f in self._fields if not isinstance(f.transform, VoidTransform)
        ]
        self._void = [isinstance(f.transform, VoidTransform) for f in self._fields]
        self._types: list[Any] = [f.field_type for f in spec.partition_type(schema).fields]

    def split(self, rows: pa.Table) -> Iterator[tuple[Key, pa.Table]]:
        """Each partition's rows once per call, in the order of the rows."""
        if not self._fields or not rows.num_rows:
            yield (None,) * len(self._fields), rows
            return
        codes, dictionaries = self._codes(rows)
        order = np.argsort(codes, kind="stable")
        sorted_codes = codes[order]
        starts = np.flatnonzero(np.r_[True, sorted_codes[1:] != sorted_codes[:-1]])
        if len(starts) == 1:
            yield self._key(int(codes[0]), dictionaries), rows
            return
        for start, end in zip(starts, np.r_[starts[1:], len(order)], strict=True):
            # take copies: a slice would keep the whole chunk in memory for one small partition
            yield (self._key(int(sorted_codes[start]), dictionaries),
                   rows.take(pa.array(order[start:end])))

    def to_json(self, key: Key) -> list[Any]:
        """Partition values in Iceberg's JSON single-value form."""
        return [None if value is None else to_json(type_, value)
                for type_, value in zip(self._types, key, strict=True)]

    def _codes(self, rows: pa.Table) -> tuple[np.ndarray[Any, Any], list[pa.Array]]:
        codes = np.zeros(rows.num_rows, dtype=np.int64)
        dictionaries = []
        transforms = iter(self._transforms)
        for path, void in zip(self._paths, self._void, strict=True):
            if void:
                values = pa.nulls(rows.num_rows, pa.int32())
            else:
                values = _transformed(_column(rows, path), next(transforms))
            encoded = values.dictionary_encode(null_encoding="encode")
            dictionaries.append(encoded.dictionary)
            codes = codes * max(len(encoded.dictionary), 1) + encoded.indices.to_numpy()
        return codes, dictionaries

    def _key(self, code: int, dictionaries: list[pa.Array]) -> Key:
        values = []
        for dictionary in reversed(dictionaries):
            code, index = divmod(code, max(len(dictionary), 1))
            values.append(_plain(dictionary[index]))
        return tuple(reversed(values))


def _transformed(values: pa.Array, transform: Any) -> pa.Array:
    if isinstance(values.type, pa.ExtensionType):
        values = values.storage
    if transform is None:
        return values
    result = transform(values)
    return result.combine_chunks() if isinstance(result, pa.ChunkedArray) else result


def _plain(scalar: pa.Scalar) -> Any:
    """The value in the form pyiceberg's JSON conversion takes: days and micros as numbers."""
    type_ = scalar.type
    if not scalar.is_valid:
        return None
    if pa.types.is_date32(type_):
        return scalar.cast(pa.int32()).as_py()
    if pa.types.is_timestamp(type_) or pa.types.is_time64(type_):
        return scalar.cast(pa.int64()).as_py()
    return scalar.as_py()


def _path(schema: Schema, field_id: int) -> list[str]:
    name = schema.find_column_name(field_id)
    path: list[str] = []
    struct = schema.as_struct()
    while name:
        field = next(f for f in struct.fields
                     if name == f.name or name.startswith(f.name + "."))
        path.append(field.name)
        name = name[len(field.name) + 1:]
        struct = field.field_type  # type: ignore[assignment]
    return path


def _column(rows: pa.Table, path: list[str]) -> pa.Array:
    column = rows.column(path[0]).combine_chunks()
    array = column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)
    for name in path[1:]:
        array = pc.struct_field(array, name)
    return array
