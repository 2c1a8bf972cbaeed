"""Variants that are nested too deep are told by their bytes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from meltline.kernels.variant_depth import MAX_DEPTH, TooDeep, check_depth
from tests.unit.kernels.variants import Raw, encode, nested


def check(*values: bytes | None) -> None:
    check_depth(pa.array(values, pa.large_binary()))


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 100_000])
def test_too_deep(depth: int) -> None:
    with pytest.raises(TooDeep, match="more than 1000 deep"):
        check(None, b"\0", nested(depth))


def test_deep_inside_of_something_wide() -> None:
    deep = Raw(nested(MAX_DEPTH))
    for value in ({"a": 1, "b": deep, "c": "x" * 9000}, [*range(500), deep, "x"]):
        with pytest.raises(TooDeep):
            check(encode(value)["value"])


@pytest.mark.parametrize("value", [
    Raw(nested(MAX_DEPTH)), "x" * 100_000, list(range(2000)), {"a": [1] * 5000, "b": "y" * 5000},
    Raw(b"\x1f" + b"\xff" * 9000), [Raw(nested(MAX_DEPTH - 1))] * 2,
])
def test_not_too_deep(value: Any) -> None:
    check(encode(value)["value"], None)
