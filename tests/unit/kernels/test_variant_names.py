"""Names in the metadata of variants."""

from __future__ import annotations

import pyarrow as pa
import pytest

from meltline.kernels.variant_names import names_of, restored, told_apart, unused_suffix
from tests.unit.kernels.variants import encode


@pytest.mark.parametrize("names", [[], [""], ["a", "", "é" * 200]])
def test_names_of_metadata(names: list[str]) -> None:
    assert names_of(encode(dict.fromkeys(names), tuple(names))["metadata"]) == names


def test_names_are_told_apart_and_restored() -> None:
    names = ["A", "a", "", "b"]
    made = told_apart(names, "!")
    assert made == ["A", "a!", "!", "b"]
    metadata = pa.array([encode({}, tuple(made))["metadata"], None, b"\1\0\0"], pa.binary())
    assert [one and names_of(one) for one in restored(metadata, "!").to_pylist()] == [
        names, None, []]


@pytest.mark.parametrize("name", ["\0apart", "x\0apart", "\0apart."])
def test_a_suffix_that_is_part_of_a_name_is_not_used(name: str) -> None:
    array = pa.array([encode({name: 1})], pa.struct([("metadata", pa.binary()),
                                                     ("value", pa.binary())]))
    assert unused_suffix(array) not in name
