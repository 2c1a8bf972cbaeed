"""Shredded variants of unusual shapes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from meltline.kernels.variant_array import variant_array
from meltline.kernels.variant_json import variant_json
from tests.unit.kernels.variants import encode

BARE = pa.struct([pa.field("typed_value", pa.int64())])
FULL = pa.struct([pa.field("value", pa.binary()), pa.field("typed_value", pa.int64())])


def told(array: pa.Array) -> list[str | None]:
    return [None if one is None else variant_json(**one) for one in array.to_pylist()]


def required(name: str, type_: pa.DataType) -> pa.Field:
    return pa.field(name, type_, nullable=False)


def shredded(inside: pa.DataType, *fields: pa.Field) -> pa.DataType:
    return pa.struct([*fields, required("metadata", pa.binary()), pa.field("typed_value", inside)])


def test_groups_without_a_value_in_any_order() -> None:
    items = pa.list_(required("element", pa.struct([pa.field("typed_value", pa.string())])))
    inside = pa.struct([
        required("l", pa.struct([pa.field("typed_value", items)])), required("x", BARE),
        required("y", pa.struct([pa.field("typed_value", pa.int8()),
                                 pa.field("value", pa.binary())]))])
    names = encode({"l": 1, "x": 1, "y": 1})["metadata"]
    none: dict[str, Any] = {"typed_value": None}
    rows = [None, {"l": {"typed_value": [{"typed_value": "p"}, {"typed_value": "q"}]},
                   "x": {"typed_value": 1}, "y": {"value": encode("t")["value"]}},
            {"l": none, "x": none, "y": {"typed_value": 2}}, {"l": none, "x": none, "y": none}]
    array = pa.array([row and {"metadata": names, "typed_value": row} for row in rows],
                     shredded(inside))
    whole = [None, '{"l":["p","q"],"x":1,"y":"t"}', '{"y":2}', "{}"]
    assert told(variant_array(array)) == whole
    assert told(variant_array(array.slice(1, 2))) == whole[1:3]


def test_a_typed_value_alone() -> None:
    array = pa.array([{"metadata": b"\1\0\0", "typed_value": 7}, None], shredded(pa.int64()))
    assert told(variant_array(array)) == ["7", None]


def test_names_that_differ_in_case_alone_and_empty_names() -> None:
    inner = pa.struct([pa.field("value", pa.binary()), pa.field("typed_value", pa.struct(
        [required("É", FULL), required("é", FULL)]))])
    inside = pa.struct([required("A", FULL), required("a", FULL), required("", FULL),
                        required("in", inner)])
    names = encode(dict.fromkeys(["", "A", "a", "aa", "in", "É", "é"]))["metadata"]
    rest = encode({"aa": 9, "a\1": 8}, names=("", "A", "a"))
    one = {"value": None, "typed_value": 1}
    none = {"value": None, "typed_value": None}
    nested = {"value": None, "typed_value": {"É": one, "é": {"value": None, "typed_value": 2}}}
    array = pa.array([
        {"metadata": rest["metadata"], "value": rest["value"],
         "typed_value": {"A": one, "a": {"value": None, "typed_value": 2}, "": one, "in": none}},
        {"metadata": names, "typed_value": {"A": none, "a": one, "": none, "in": nested}},
        {"metadata": names, "typed_value": {"A": one, "a": none, "": none, "in": none}}, None],
        shredded(inside, pa.field("value", pa.binary())))
    assert told(variant_array(array)) == [
        '{"":1,"A":1,"a":2,"a\\u0001":8,"aa":9}', '{"a":1,"in":{"É":1,"é":2}}', '{"A":1}', None]
