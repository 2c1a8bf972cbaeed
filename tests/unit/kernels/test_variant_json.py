"""What variants stand for, type by type."""

from __future__ import annotations

import json
from typing import Any

import pytest

from meltline.kernels.variant_json import variant_json
from tests.unit.kernels.variants import encode, primitive, sized


def told(value: Any) -> str:
    return variant_json(**encode(value))


@pytest.mark.parametrize("value", [
    None, True, False, 0, -2**63, 1.5, 1e300, "", "é \"quoted\" \n", [], {}, [[], {}],
    {"b": [1, {"c": None}], "a": "x" * 300, "": 0}, list(range(300)),
])
def test_what_json_has_stays_as_it_is(value: Any) -> None:
    assert json.loads(told(value)) == value


@pytest.mark.parametrize(("raw", "text"), [
    (primitive(3, "b", -1), "-1"), (primitive(4, "h", 300), "300"), (primitive(5, "i", 7), "7"),
    (primitive(8, "Bi", 2, -5), "-0.05"), (primitive(9, "Bq", 0, 12), "12"),
    (primitive(10, "BQQ", 3, 10**18, 10**18), "18446744073709551617000000000000000.000"),
    (primitive(7, "d", float("nan")), '"NaN"'), (primitive(14, "f", float("-inf")), '"-Infinity"'),
    (primitive(14, "f", 0.5), "0.5"), (primitive(11, "i", -1), '"1969-12-31"'),
    (primitive(12, "q", 1_500_000), '"1970-01-01T00:00:01.5Z"'),
    (primitive(13, "q", -1), '"1969-12-31T23:59:59.999999"'),
    (primitive(13, "q", 60_000_000), '"1970-01-01T00:01:00"'),
    (primitive(17, "q", 3_661_000_001), '"01:01:01.000001"'),
    (primitive(18, "q", 1), '"1970-01-01T00:00:00.000000001Z"'),
    (primitive(19, "q", 0), '"1970-01-01T00:00:00"'),
    (sized(15, b"\0\xff"), '"AP8="'), (primitive(20, "QQ", 0, 1 << 56),
                                      '"00000000-0000-0000-0000-000000000001"'),
])
def test_other_types_are_spelled_as_in_documents(raw: Any, text: str) -> None:
    assert told([raw, raw]) == f"[{text},{text}]"


def test_short_texts() -> None:
    assert variant_json(b"\x01\x00\x00", b"\x09ab") == '"ab"'


def test_nesting_has_no_limit() -> None:
    value: Any = 1
    for _ in range(3000):
        value = _nested(value)
    assert variant_json(b"\x01\x00\x00", value) == "[" * 3000 + "1" + "]" * 3000


def _nested(inner: Any) -> bytes:
    data = primitive(3, "b", inner) if isinstance(inner, int) else inner
    return b"\x0f\x01" + (0).to_bytes(4, "little") + len(data).to_bytes(4, "little") + data


def test_a_type_of_the_future_is_named() -> None:
    with pytest.raises(ValueError, match="unknown type 40"):
        told(primitive(40))
