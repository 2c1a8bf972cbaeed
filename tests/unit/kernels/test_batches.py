"""Items in batches of one kind and of enough of them."""

from __future__ import annotations

from meltline.kernels.batches import batched


def test_a_batch_ends_when_there_is_enough() -> None:
    assert list(batched([3, 3, 3, 9, 1], lambda one: one, 6)) == [[3, 3], [3, 9], [1]]


def test_a_batch_is_of_one_kind() -> None:
    found = batched([1, 3, 2, 4, 5], lambda _: 1, 10, kind=lambda one: one % 2)
    assert list(found) == [[1, 3], [2, 4], [5]]


def test_nothing() -> None:
    assert list(batched([], lambda _: 1, 10)) == []
