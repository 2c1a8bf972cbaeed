"""Whatever a valid JSON object holds, no event raises and none is lost."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from meltline.kernels.convert import NO_MATCH
from tests.unit.kernels.conversion import KEY, convert, optional, reasons, required

TYPES: list[IcebergType] = [
    BooleanType(), IntegerType(), LongType(), FloatType(), DoubleType(), DecimalType(38, 10),
    DateType(), TimeType(), TimestampType(), TimestamptzType(), TimestampNanoType(), StringType(),
    UUIDType(), FixedType(3), BinaryType(),
    StructType(optional(100, "a", StructType(optional(101, "a", LongType())))),
    ListType(102, ListType(103, StringType(), element_required=False), element_required=False),
    MapType(104, StringType(), 105, LongType(), value_required=False),
]  # fmt: skip
FIELDS = [KEY, *(optional(2 + place, f"v{place}", type_) for place, type_ in enumerate(TYPES))]

HOSTILE = {
    "lists in lists": "[" * 2000 + "]" * 2000,
    "objects in objects": '{"a":' * 2000 + "1" + "}" * 2000,
    "mixed nesting": '[{"a":' * 1000 + "null" + "}]" * 1000,
    "a whole number of 5,000 digits": "9" * 5000,
    "a fraction of 5,000 digits": "0." + "1" * 5000,
    "a huge exponent": "1e999999999999",
    "a tiny exponent": "-1e-999999999999",
    "a string of digits": '"' + "9" * 100_000 + '"',
    "many escapes": '"' + "\\u00e9" * 100_000 + '"',
    "NUL": '"\\u0000\\u0000"',
    "duplicate keys": '{"a":1,"a":{"a":2},"a":[3]}',
    "empty keys": '{"":{"":[{"":1}]}}',
    "20,000 keys": "{" + ",".join(f'"k{place}":{place}' for place in range(20_000)) + "}",
    "100,000 items": "[" + "1," * 99_999 + "1]",
    "far timestamps": "[9223372036854775807,-9223372036854775808,1e18,-1e18]",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_in_every_column(case: str) -> None:
    bodies = [f'{{"k":{place},"{field.name}":{HOSTILE[case]}}}'
              for place, field in enumerate(FIELDS[1:])]
    converted = convert(FIELDS, bodies)
    assert sorted(converted.rows.column("k").to_pylist()) == list(range(len(bodies)))


@pytest.mark.parametrize("case", HOSTILE)
def test_in_a_field_without_a_column(case: str) -> None:
    converted = convert(
        FIELDS, [f'{{"k":1,"other":{HOSTILE[case]}}}', f'{{"other":{HOSTILE[case]}}}'])
    assert converted.rows.column("k").to_pylist() == [1]
    assert reasons(converted) == {1: NO_MATCH}


def test_a_string_of_10_mb() -> None:
    long = "x" * 10_000_000
    converted = convert(
        [KEY, optional(2, "s", StringType()), optional(3, "n", LongType())],
        [f'{{"k":1,"s":"{long}","n":"{long}"}}'])
    assert converted.rows.to_pylist() == [{"k": 1, "s": long, "n": None}]


def test_numbers_at_the_ends_of_time_do_not_raise() -> None:
    ends = [2**63 - 1, -(2**63), 2**63 // 1000, -(2**63) // 1000, 2**31 - 1, -(2**31), 10**17]
    texts = [str(end + step) for end in ends for step in (-1, 0, 1)]
    texts += [f'"{text}-01-01"' for text in ("294247", "-290308", "5881580", "99999999999")]
    bodies = [f'{{"k":1,"{field.name}":{text}}}' for text in texts for field in FIELDS[1:]]
    assert convert(FIELDS, bodies).rows.num_rows == len(bodies)


@pytest.mark.parametrize("seed", range(3))
def test_random_objects_are_rows_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    fields = [required(1, "k", LongType()), *FIELDS[1:]]
    bodies = [json.dumps(_object(chance, 0), ensure_ascii=chance.random() < 0.5)
              for _ in range(400)]
    converted = convert(fields, bodies)
    assert converted.rows.num_rows + converted.rejects.num_rows == len(bodies)
    assert converted.rejects.column("reason").null_count == 0
    assert len(set(converted.rejects.column("ord").to_pylist())) == converted.rejects.num_rows
    assert converted.rejects.num_rows > 0
    assert converted.rows.num_rows > 0


def _object(chance: random.Random, depth: int) -> dict[str, Any]:
    names = ["k", *(f"v{place}" for place in range(len(TYPES))), "a", "", "é", "x.y", '"']
    found = {chance.choice(names): _value(chance, depth) for _ in range(chance.randint(0, 12))}
    return found if depth or chance.random() < 0.4 else {"k": chance.randint(-5, 5), **found}


def _value(chance: random.Random, depth: int) -> Any:
    if depth < 4 and chance.random() < 0.3:
        if chance.random() < 0.5:
            return _object(chance, depth + 1)
        return [_value(chance, depth + 1) for _ in range(chance.randint(0, 4))]
    return chance.choice([
        None, True, False, 0, -1, 2**63, 10**40, 1.5, 1e300, float("nan"), float("inf"), "", "x",
        "2024-02-29T12:00:00+02:00", "12:34", "AAEC", "é\0\n😀", "-1", "1e400"])
