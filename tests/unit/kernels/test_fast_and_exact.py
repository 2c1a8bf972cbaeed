"""Where the fast way is sure, it says what the exact way says. Random values of every sort."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from datetime import date, datetime, timedelta

import pytest
from pyiceberg.schema import Schema
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
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from meltline.kernels.convert import Converter
from meltline.model.event import json_shape
from tests.unit.kernels.conversion import CONNECTION, KEY, optional, plain, register, required

ROWS = 2000
TYPES: list[IcebergType] = [
    BooleanType(), IntegerType(), LongType(), FloatType(), DoubleType(), DecimalType(10, 2),
    DecimalType(38, 10), DateType(), TimeType(), TimestampType(), TimestamptzType(),
    TimestampNanoType(), TimestamptzNanoType(), StringType(), UUIDType(), FixedType(3),
    BinaryType(),
    StructType(optional(10, "a", LongType()), required(11, "b", StringType())),
    ListType(12, DoubleType(), element_required=False),
    ListType(13, TimestampType(), element_required=True),
    MapType(14, StringType(), 15, LongType(), value_required=False),
    MapType(16, DateType(), 17, StringType(), value_required=True),
]  # fmt: skip
NAMES = [f"v{place}" if place % 2 else f"V{place + 1}" for place in range(len(TYPES))]
FITTING = ["true", "-7", "7", "0.5", "1", "1.10", "12345678901.5", "19723", "1", '"2024-02-29"',
           "1704067200000", '"2024-02-29T12:00:00Z"', "1", '"a"',
           '"f79c3e09-677c-4bbd-a479-3f349cb785e7"', '"AAEC"', '"AA=="', '{"b":"x"}', "[1.5]",
           "[0]", '{"a":1}', '{"2024-01-01":"x"}']  # fmt: skip
"""A value that converts, for each of the types."""
WORDS = ["", " ", "true", "FALSE", "null", "NaN", "nan", "inf", "-Infinity", "infinity", "epoch",
         "now", "today", "abc", "é😀日本", "{", "[", "{}", "0x1F", "1_000", "AAEC", "AA==", "+",
         "-", "f79c3e09-677c-4bbd-a479-3f349cb785e7", "a\nb", "\0", '"', "\\", "24:00:00",
         "2024-01-01 (BC)", "2024-W01-1", "12:34"]  # fmt: skip


class Values:
    """Texts of random JSON values, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._scalars: list[Callable[[], str]] = [
            lambda: self._random.choice(["null", "true", "false", "NaN", "Infinity"]),
            self._whole, self._whole, self._decimal, self._double, self._exponent, self._day,
            self._moment, self._moment, self._clock, self._word, self._text, self._quoted_number]

    def any(self, depth: int = 0) -> str:
        if depth < 3 and self._random.random() < 0.15:
            return self._container(depth)
        text = self._random.choice(self._scalars)()
        return self._escaped(text) if text.startswith('"') else text

    def _whole(self) -> str:
        edge = self._random.choice([0, 1, 2**31, 2**53, 2**63, 2**64, 10**30])
        small = self._random.randint(-(10**6), 10**13)
        return str(self._random.choice([
            small, self._random.randint(-3, 3) + edge, -edge - self._random.randint(-3, 3)]))

    def _decimal(self) -> str:
        digits = "".join(self._random.choices("0123456789", k=self._random.randint(1, 25)))
        return f"{self._random.randint(-10**12, 10**12)}.{digits}"

    def _double(self) -> str:
        bits: float = struct.unpack("<d", self._random.randbytes(8))[0]
        return repr(bits) if abs(bits) < float("inf") else "1e400"

    def _exponent(self) -> str:
        return (f"{self._random.choice(['', '-'])}{self._random.randint(0, 99)}."
                f"{self._random.randint(0, 99)}{self._random.choice('eE')}"
                f"{self._random.choice(['', '+', '-'])}{self._random.randint(0, 400)}")

    def _day(self) -> str:
        days = timedelta(self._random.randint(0, 3652058))
        return json.dumps((date(1, 1, 1) + days).isoformat())

    def _moment(self) -> str:
        micros = timedelta(microseconds=self._random.randint(0, 200_000_000_000_000_000))
        moment = datetime(1, 1, 1) + micros  # noqa: DTZ001
        text = moment.isoformat(sep=self._random.choice("T "), timespec=self._random.choice(
            ["minutes", "seconds", "milliseconds", "microseconds"]))
        return json.dumps(self._random.choice(["", " "]) * (self._random.random() < 0.1) + text
                          + self._random.choice(["", "Z", "+02:00", "-0530", "+14", " UTC", "x"]))

    def _clock(self) -> str:
        hour, minute = self._random.randint(0, 25), self._random.randint(0, 60)
        return json.dumps(f"{hour:02}:{minute:02}:{minute:02}.{self._random.randint(0, 10**9)}")

    def _word(self) -> str:
        return json.dumps(self._random.choice(WORDS), ensure_ascii=self._random.random() < 0.5)

    def _text(self) -> str:
        letters = [chr(self._random.choice([32, 65, 97, 228, 0x4E2D, 0x1F600, 0]))
                   for _ in range(self._random.randint(0, 12))]
        return json.dumps("".join(letters), ensure_ascii=self._random.random() < 0.5)

    def _quoted_number(self) -> str:
        number = self._random.choice([self._whole, self._decimal, self._double, self._exponent])()
        return json.dumps(self._random.choice(["", "", "+", " "]) + number)

    def _escaped(self, text: str) -> str:
        """Now and then with an escape where none is needed."""
        if len(text) < 4 or "\\" in text or self._random.random() > 0.1:
            return text
        place = self._random.randint(1, len(text) - 2)
        return f"{text[:place]}\\u{ord(text[place]):04x}{text[place + 1:]}" \
            if ord(text[place]) < 0x10000 else text

    def _container(self, depth: int) -> str:
        items = [self.any(depth + 1) for _ in range(self._random.randint(0, 4))]
        if self._random.random() < 0.5:
            return "[" + ",".join(items) + "]"
        names = ["a", "b", "A", "", "1", "2024-01-01", "é"]
        return "{" + ",".join(f"{json.dumps(self._random.choice(names))}:{item}"
                              for item in items) + "}"


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("type_", TYPES, ids=lambda type_: str(type_)[:40])
def test_one_column(type_: IcebergType, seed: int) -> None:
    values = Values(seed)
    bodies = [f'{{"k":{place},"v":{values.any()}}}' for place in range(ROWS)]
    agree([KEY, optional(2, "v", type_)], bodies)


@pytest.mark.parametrize("seed", [3, 4])
def test_all_columns_at_once(seed: int) -> None:
    """Some are required, some missing from an event, some differ from another in case alone."""
    values, chance = Values(seed), random.Random(seed)
    fields = [KEY, *(NestedField(100 + place, NAMES[place], type_, required=place % 7 == 3)
                     for place, type_ in enumerate(TYPES))]
    bodies = []
    for place in range(ROWS // 4):
        pairs = [f'"{field.name}":{values.any() if chance.random() < 0.05 else fitting}'
                 for field, fitting in zip(fields[1:], FITTING, strict=True)
                 if chance.random() < 0.97]
        chance.shuffle(pairs)
        bodies.append("{" + ",".join([f'"k":{place}', *pairs]) + "}")
    agree(fields, bodies)


def agree(fields: list[NestedField], bodies: list[str]) -> None:
    """Both ways over all events: what is not in doubt is equal, and no event is lost."""
    converter = Converter(Schema(*fields), json_shape())
    register(bodies)
    fast = CONNECTION.sql(converter.fast_sql("events")).to_arrow_table().sort_by("ord")
    exact = CONNECTION.sql(converter.exact_sql("events")).to_arrow_table().sort_by("ord")
    sure = [place for place, flag in enumerate(fast.column("flag").to_pylist()) if not flag]
    assert sure
    assert exact.column("reason").take(sure).null_count == len(sure)
    for place, field in enumerate(fields):
        one = plain(converter._rows(fast.take(sure)).column(place))
        other = plain(converter._rows(exact.take(sure)).column(place))
        different = [(bodies[row], a, b) for row, a, b in zip(sure, one, other, strict=True)
                     if repr(a) != repr(b)]
        assert not different, field
    both = converter.convert(CONNECTION, "events")
    assert both.rows.num_rows + both.rejects.num_rows == len(bodies)
    assert both.rejects.num_rows == exact.num_rows - exact.column("reason").null_count
