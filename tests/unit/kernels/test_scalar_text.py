"""Scalars are spelled by DuckDB's rules; more of them against DuckDB: test_variant_text.py."""

from __future__ import annotations

import json
import random
import struct

import pytest

from meltline.kernels.connection import connect
from meltline.kernels.scalar_text import (
    MICROS,
    NANOS,
    date_text,
    json_float,
    json_string,
    time_text,
    timestamp_text,
)


def test_floats_are_spelled_as_duckdb_does() -> None:
    source = random.Random(5)
    bits = [source.getrandbits(64) for _ in range(2000)]
    values = [struct.unpack("<d", one.to_bytes(8, "little"))[0] for one in bits]
    values = [one for one in values if one == one] + [source.uniform(-1, 1) * 10**k
                                                      for k in range(-12, 26) for _ in range(20)]
    with connect() as connection:
        found = connection.execute(
            "SELECT to_json(unnest(?::DOUBLE[]))::VARCHAR", [values]).fetchall()
    assert [json_float(one) for one in values] == [text for (text,) in found]


def test_what_json_has_not() -> None:
    assert [json_float(float(one)) for one in ("nan", "inf", "-inf")] == [
        '"NaN"', '"Infinity"', '"-Infinity"']


@pytest.mark.parametrize(("text", "spelled"), [
    ("é/\x7f", '"é/\x7f"'), ('"\\\n\t\b\f\r', r'"\"\\\n\t\b\f\r"'), ("\x1b\0", r'"\u001B\u0000"')])
def test_strings(text: str, spelled: str) -> None:
    assert json_string(text) == spelled
    assert json.loads(spelled) == text


def test_dates_and_times() -> None:
    assert date_text(-719163) == "0001-12-31 (BC)"
    assert date_text(2**31 - 1) == "infinity"
    assert timestamp_text(-1, MICROS, "Z") == "1969-12-31T23:59:59.999999Z"
    assert timestamp_text(10**9, NANOS, "") == "1970-01-01T00:00:01"
    assert timestamp_text(-2**63 + 1, NANOS, "Z") == "-infinity"
    assert time_text(86_400_000_000, MICROS) == "24:00:00"
    assert time_text(1_500, NANOS) == "00:00:00.0000015"
