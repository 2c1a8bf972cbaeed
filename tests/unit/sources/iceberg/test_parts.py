"""Big groups, taken apart by the keys and the number of rows of their files."""

from __future__ import annotations

from dataclasses import replace

from meltline.model.content import DataFile, FileChange
from meltline.sources.iceberg.parts import parts
from tests.unit.sources.iceberg.states import data


def file(path: str, low: int, high: int, records: int = 10) -> DataFile:
    return replace(data(path), records=records, partition=(), size=low * 1000 + high)


def keys(one: DataFile) -> tuple[int, int] | None:
    """The test hides the keys in the size."""
    return divmod(one.size, 1000) if one.size else None


def cut(removed: list[DataFile], added: list[DataFile]) -> list[list[str]]:
    group = [*(FileChange(one, (), None) for one in removed),
             *(FileChange(one, None, ()) for one in added)]
    return [[change.file.path for change in part] for part in parts(group, keys)]


def test_an_added_file_goes_with_the_files_it_replaced() -> None:
    assert cut([file("a", 0, 9), file("b", 10, 19), file("c", 20, 29)],
               [file("x", 0, 19, 20), file("y", 20, 29)]) == [["a", "b", "x"], ["c", "y"]]


def test_files_that_are_not_neighbours_may_become_one() -> None:
    assert cut([file("a", 0, 9), file("b", 10, 19), file("c", 20, 29), file("d", 30, 39)],
               [file("x", 0, 29, 20), file("y", 10, 39, 20)]) == [["a", "c", "x"], ["b", "d", "y"]]


def test_keys_all_over_are_told_by_the_lowest_and_highest() -> None:
    assert cut([file("a", 0, 97), file("b", 1, 99)], [file("y", 1, 99), file("x", 0, 97)]) == [
        ["b", "y"], ["a", "x"]]


def test_files_stay_alone_when_rows_were_deleted() -> None:
    assert cut([file("a", 0, 9), file("b", 10, 19)], [file("x", 0, 9, 9), file("y", 10, 19)]) == [
        ["a"], ["b"], ["x"], ["y"]]


def test_files_stay_alone_when_their_keys_do_not_tell() -> None:
    assert cut([file("a", 0, 99), file("b", 0, 99)], [file("x", 0, 99), file("y", 0, 99)]) == [
        ["a"], ["b"], ["x"], ["y"]]


def test_files_stay_alone_when_one_is_left_over() -> None:
    assert cut([file("a", 0, 9), file("b", 50, 60)], [file("x", 0, 9)]) == [["a"], ["b"], ["x"]]


def test_files_stay_alone_without_statistics() -> None:
    bare = replace(file("a", 0, 9), size=0)
    assert cut([bare], [file("x", 0, 9)]) == [["a"], ["x"]]
