"""Small chunks, joined."""

from __future__ import annotations

import pyarrow as pa

from meltline.engine.chunks import joined
from meltline.model.event import Shape, json_shape


def chunk(*numbers: int) -> pa.Table:
    return pa.table({"ord": pa.array(numbers, pa.int64())})


def numbers(chunks: list[tuple[Shape, pa.Table]]) -> list[list[int]]:
    return [table.column("ord").to_pylist() for _, table in chunks]


def test_chunks_grow_to_the_size_and_keep_their_order() -> None:
    shape = json_shape()
    chunks = [(shape, chunk(1)), (shape, chunk(2)), (shape, chunk(3, 4)), (shape, chunk(5))]
    assert numbers(list(joined(chunks, 16))) == [[1, 2], [3, 4], [5]]
    assert numbers(list(joined(chunks, 1 << 20))) == [[1, 2, 3, 4, 5]]
    assert list(joined([], 16)) == []


def test_another_shape_or_other_columns_begin_a_new_chunk() -> None:
    one, other = json_shape(), json_shape(line="BIGINT")
    wider = chunk(3).append_column("x", pa.array([1]))
    chunks = [(one, chunk(1)), (other, chunk(2)), (other, wider), (one, chunk(4))]
    assert numbers(list(joined(chunks, 1 << 20))) == [[1], [2], [3], [4]]
