"""Rows to partitions: each row once, in order, whatever the number of partition fields."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    IdentityTransform,
    TruncateTransform,
    VoidTransform,
)
from pyiceberg.types import DateType, LongType, StringType, StructType

from meltline.kernels.partition import Partitioner
from tests.unit.kernels.conversion import optional
from tests.unit.kernels.tables import spec, table

PLACE = optional(9, "place", StructType(
    optional(10, "country", StringType()),
    optional(11, "at", StructType(optional(12, "city.name", StringType())))))
SCHEMA = Schema(optional(1, "k", LongType()), optional(2, "day", DateType()),
                optional(3, "name", StringType()), PLACE)


def rows(count: int, seed: int = 0) -> Any:
    chance = random.Random(seed)
    places: list[Any] = [None, {"country": "fr", "at": None},
                         {"country": "de", "at": {"city.name": "Bonn"}},
                         {"country": None, "at": {"city.name": None}}]
    return table(SCHEMA, {
        "k": range(count),
        "day": [chance.choice([None, 0, 19723]) for _ in range(count)],
        "name": [chance.choice([None, "", "anna", "bo"]) for _ in range(count)],
        "place": [chance.choice(places) for _ in range(count)]})


def test_without_partition_fields_all_rows_are_one_part() -> None:
    [(partition, part)] = Partitioner(SCHEMA, PartitionSpec()).split(rows(5))
    assert partition == []
    assert part.column("k").to_pylist() == [0, 1, 2, 3, 4]


def test_no_rows_have_no_partition() -> None:
    parts = list(Partitioner(SCHEMA, spec((2, DayTransform()))).split(rows(0)))
    assert [part.num_rows for _, part in parts] == [0]


SPECS = {
    "one field": spec((3, IdentityTransform())),
    "several fields": spec((2, DayTransform()), (3, TruncateTransform(1)), (1, BucketTransform(3))),
    "inside a struct": spec((10, IdentityTransform())),
    "deep inside, with a dot in its name": spec((12, IdentityTransform())),
    "with a void field": spec((3, VoidTransform()), (10, IdentityTransform())),
    "void alone": spec((3, VoidTransform())),
}


@pytest.mark.parametrize("case", SPECS)
def test_every_row_is_in_the_partition_of_its_values(case: str) -> None:
    whole = rows(2000)
    seen: list[int] = []
    partitions = []
    for partition, part in Partitioner(SCHEMA, SPECS[case]).split(whole):
        keys = part.column("k").to_pylist()
        assert keys == sorted(keys)
        assert part == whole.take(keys)
        for key in keys:
            assert partition == expected(SPECS[case], whole.slice(key, 1).to_pylist()[0])
        seen += keys
        partitions.append(partition)
    assert sorted(seen) == list(range(2000))
    assert len({repr(partition) for partition in partitions}) == len(partitions)


def expected(by: PartitionSpec, row: dict[str, Any]) -> list[Any]:
    place = row["place"] or {}
    sources = {1: row["k"], 2: row["day"] and row["day"].isoformat(), 3: row["name"],
               10: place.get("country"), 12: (place.get("at") or {}).get("city.name")}
    return [
        sources[field.source_id] if isinstance(field.transform, DayTransform)
        else field.transform.transform(SCHEMA.find_type(field.source_id))(sources[field.source_id])
        for field in by.fields]


def test_one_partition_alone_is_not_copied() -> None:
    whole = table(SCHEMA, {"k": [1, 2], "day": [0, 0], "name": ["a", "b"], "place": [None, None]})
    [(partition, part)] = Partitioner(SCHEMA, spec((2, DayTransform()))).split(whole)
    assert partition == ["1970-01-01"]
    assert part is whole


def test_more_combinations_than_fit_a_number() -> None:
    """Ten fields of a thousand values each: 10^30 combinations."""
    count = 1000
    names = [f"c{place}" for place in range(10)]
    schema = Schema(*(optional(place + 1, name, LongType()) for place, name in enumerate(names)))
    by = spec(*((place + 1, IdentityTransform()) for place in range(10)))
    chance = random.Random(1)
    columns = {name: chance.sample(range(count), count) for name in names}
    twice = {name: values + values for name, values in columns.items()}
    parts = list(Partitioner(schema, by).split(table(schema, twice)))
    assert len(parts) == count
    for partition, part in parts:
        assert part.num_rows == 2
        assert partition == list(part.to_pylist()[0].values()) == list(part.to_pylist()[1].values())


@pytest.mark.parametrize("names", [("a", "a.b"), ("a.b", "a")])
def test_a_column_whose_name_begins_with_another_one(names: tuple[str, str]) -> None:
    schema = Schema(optional(1, names[0], LongType()), optional(2, names[1], LongType()))
    whole = table(schema, {names[0]: [1, 2], names[1]: [7, 7]})
    [(partition, _)] = Partitioner(schema, spec((2, IdentityTransform()))).split(whole)
    assert partition == [7]
