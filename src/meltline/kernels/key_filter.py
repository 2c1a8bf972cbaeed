"""Iceberg filter expressions, as JSON, that every row with one of the keys satisfies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import PrimitiveType

from meltline.kernels.bounds import bound_scalar, file_bounds, has_bounds, null_count
from meltline.kernels.keys import Keys
from meltline.kernels.single_value import single_value
from meltline.model.live_file import Content

FEW = 200
"""Up to so many values Iceberg compares a list of them with a file's bounds."""

Expression = dict[str, Any]


def listed_keys(schema: Schema, keys: Keys) -> str | None:
    """Every column is among the values it has in the keys: prunes any partition transform."""
    return _all(_listed(schema, keys, place) for place in range(len(keys.columns.ids)))


def between_bounds(
    schema: Schema, ids: Sequence[int], contents: Sequence[Content], nulls: bool = False
) -> str | None:
    """Every column lies between its lowest and its highest value in some files, or is null there.

    `nulls`: null is let through whatever the files say. None when nothing can be said."""
    return _all(_between(schema, id_, contents, nulls) for id_ in ids)


def _listed(schema: Schema, keys: Keys, place: int) -> Expression | None:
    id_, type_ = keys.columns.ids[place], keys.columns.types[place]
    if not (isinstance(type_, PrimitiveType) and has_bounds(type_)):
        return None
    values = keys.rows.column(place).unique()
    listed = [single_value(type_, value) for value in values.drop_null()]
    term = schema.find_column_name(id_)
    among = {"type": "in", "term": term, "values": listed} if listed else None
    return _or_null(among, term, schema, id_, bool(values.null_count))


def _between(
    schema: Schema, id_: int, contents: Sequence[Content], nulls: bool
) -> Expression | None:
    type_ = schema.find_type(id_)
    found = [file_bounds(content, id_, type_) for content in contents]
    known = [bounds for bounds in found if bounds is not None]
    if not known or len(known) < len(found) or not isinstance(type_, PrimitiveType):
        return None
    arrow = schema_to_pyarrow(type_)
    term = schema.find_column_name(id_)
    low, high = ({"type": kind, "term": term,
                  "value": single_value(type_, bound_scalar(value, arrow))}
                 for kind, value in (("gt-eq", min(low for low, _ in known)),
                                     ("lt-eq", max(high for _, high in known))))
    some = nulls or any(null_count(content, id_) != 0 for content in contents)
    return _or_null({"type": "and", "left": low, "right": high}, term, schema, id_, some)


def _or_null(
    among: Expression | None, term: str | None, schema: Schema, id_: int, nulls: bool
) -> Expression | None:
    if not nulls or schema.find_field(id_).required:
        return among
    null = {"type": "is-null", "term": term}
    return null if among is None else {"type": "or", "left": among, "right": null}


def _all(expressions: Iterable[Expression | None]) -> str | None:
    known = [one for one in expressions if one is not None]
    if not known:
        return None
    return json.dumps(reduce(lambda left, right: {"type": "and", "left": left, "right": right},
                             known))
