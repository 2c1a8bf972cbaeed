"""Rows in the sort order of a table."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import UnknownTransform

from meltline.kernels.column_path import column_at, column_path
from meltline.kernels.transforms import arrow_transform

Keys = list[tuple[pa.Array, str]]


class RowOrder:
    """Sorts whole tables. Without sort fields, or with one that is not known here, rows stay as
    they are and `order_id` is None."""

    def __init__(self, schema: Schema, order: SortOrder) -> None:
        known = all(column_path(schema, field.source_id)
                    and not isinstance(field.transform, UnknownTransform)
                    for field in order.fields)
        self._fields = [_Field(schema, field) for field in order.fields] if known else []
        self.order_id = order.order_id if self._fields else None

    def sort(self, rows: pa.Table) -> pa.Table:
        if self.order_id is None or rows.num_rows < 2:
            return rows
        keys = [key for field in self._fields for key in field.keys(rows)]
        named = pa.table({f"k{i}": values for i, (values, _) in enumerate(keys)})
        directions = [(f"k{i}", direction) for i, (_, direction) in enumerate(keys)]
        return rows.take(pc.sort_indices(named, sort_keys=directions))


class _Field:
    def __init__(self, schema: Schema, field: SortField) -> None:
        self._path = column_path(schema, field.source_id)
        self._transform = arrow_transform(field.transform, schema.find_type(field.source_id))
        self._direction = ("ascending" if field.direction == SortDirection.ASC else "descending")
        self._nulls = ("ascending" if field.null_order == NullOrder.NULLS_LAST else "descending")

    def keys(self, rows: pa.Table) -> Keys:
        """What to sort by, the most important first. Where Arrow would put nulls and NaN is not
        for each column to say: they are keys of their own."""
        values = self._transform(column_at(rows, self._path))
        keys: Keys = []
        if values.null_count:
            keys.append((values.is_null(), self._nulls))
        if pa.types.is_floating(values.type):
            # NaN comes after every number
            keys.append((pc.fill_null(pc.is_nan(values), False), self._direction))
        return [*keys, (values, self._direction)]
