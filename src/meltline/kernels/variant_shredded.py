"""Shredded variants in the one form that DuckDB puts together again.

Writers may leave `value` out where it is always null, and put the parts of a group in any order:
https://github.com/apache/parquet-format/blob/master/VariantShredding.md
"""

from __future__ import annotations

import pyarrow as pa

from meltline.kernels.variant_depth import check_depth
from meltline.kernels.variant_names import told_apart

_VALUE, _TYPED = "value", "typed_value"


def regular(array: pa.Array, suffix: str) -> pa.Array:
    """An array of variants with `metadata`, `value` and `typed_value`. Names that DuckDB would
    change have the suffix. Raises TooDeep."""
    place = array.type.get_field_index("metadata")
    return _Regular(suffix).group(array, {array.type.field(place): array.field(place)})


class _Regular:
    def __init__(self, suffix: str) -> None:
        self._suffix = suffix

    def group(self, array: pa.Array, parts: dict[pa.Field, pa.Array]) -> pa.Array:
        """A struct of `parts`, `value` and `typed_value`."""
        place = array.type.get_field_index(_VALUE)
        value = array.field(place) if place >= 0 else pa.nulls(len(array), pa.binary())
        check_depth(value)
        parts[pa.field(_VALUE, value.type)] = value
        if (place := array.type.get_field_index(_TYPED)) >= 0:
            typed = self._typed(array.field(place))
            parts[pa.field(_TYPED, typed.type)] = typed
        return _struct(array, parts)

    def _typed(self, array: pa.Array) -> pa.Array:
        type_ = array.type
        if pa.types.is_struct(type_):
            return self._object(array)
        if pa.types.is_list(type_) or pa.types.is_large_list(type_):
            return self._list(array)
        if pa.types.is_fixed_size_binary(type_):
            # of all that variants hold, only a UUID is 16 bytes; as such it must be written again
            return pa.ExtensionArray.from_storage(pa.uuid(), array)
        return array

    def _object(self, array: pa.Array) -> pa.Array:
        names = told_apart([field.name for field in array.type], self._suffix)
        groups = [self.group(array.field(i), {}) for i in range(len(names))]
        return _struct(array, {pa.field(name, group.type, nullable=False): group
                               for name, group in zip(names, groups, strict=True)})

    def _list(self, array: pa.Array) -> pa.Array:
        items = self.group(array.values, {})
        item = array.type.value_field.with_type(items.type)
        made = pa.list_(item) if pa.types.is_list(array.type) else pa.large_list(item)
        return pa.Array.from_buffers(made, len(array), array.buffers()[:2], array.null_count,
                                     array.offset, [items])


def _struct(array: pa.Array, parts: dict[pa.Field, pa.Array]) -> pa.Array:
    return pa.StructArray.from_arrays(list(parts.values()), fields=list(parts),
                                      mask=array.is_null() if array.null_count else None)
