"""Tables on their way to buckets."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from meltline.sources.iceberg.pieces import read_table, split_table, write_table


@pytest.mark.parametrize("buckets", [1, 2, 7, 1000, 70_000])
def test_every_row_goes_to_the_bucket_of_its_hash_in_order(buckets: int) -> None:
    dice = random.Random(buckets)
    hashes = [dice.randrange(1 << 64) for _ in range(500)]
    chunks = [pa.table({"h": pa.array(some, pa.uint64()), "place": range(start, start + len(some))})
              for start, some in ((0, hashes[:200]), (200, hashes[200:]))]
    parts = dict(split_table(pa.concat_tables(chunks), "h", buckets))
    assert sum(part.num_rows for part in parts.values()) == len(hashes)
    for bucket, part in parts.items():
        found = read_table(write_table(part))
        assert found.column("place").to_pylist() == [
            place for place, value in enumerate(hashes) if value % buckets == bucket]


def test_of_nothing_there_is_nothing() -> None:
    empty = pa.table({"h": pa.array([], pa.uint64())})
    assert list(split_table(empty, "h", 3)) == []
