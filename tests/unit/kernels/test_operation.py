"""The words of an operation."""

from __future__ import annotations

import pytest

from meltline.kernels.operation import DELETE, INSERT, UPDATE, operation_sql, unknown_sql
from tests.unit.kernels.conversion import CONNECTION

WORDS = [("index", INSERT), ("insert", INSERT), ("create", INSERT), ("c", INSERT), ("i", INSERT),
         ("r", INSERT), ("update", UPDATE), ("u", UPDATE), ("UPDATE_AFTER", UPDATE),
         ("delete", DELETE), ("d", DELETE), ("UPDATE_BEFORE", DELETE), ("upsert", None),
         ("", None), (" c", None), ("t", None), (None, None)]


@pytest.mark.parametrize(("word", "expected"), WORDS)
def test_a_word_in_any_letter_case(word: str | None, expected: int | None) -> None:
    for spelled in (word, word and word.upper(), word and word.title()):
        sql = f"SELECT {operation_sql('w')} FROM (SELECT ?::VARCHAR AS w)"
        assert CONNECTION.execute(sql, [spelled]).fetchall() == [(expected,)]


@pytest.mark.parametrize(("word", "reason"), [
    (None, "the operation is missing"), ("", "the operation is missing"),
    ("x\"y", 'unknown operation "x"y"'), ("z" * 200, f'unknown operation "{"z" * 100}"')])
def test_the_reason_of_a_rejection(word: str | None, reason: str) -> None:
    sql = f"SELECT {unknown_sql('w')} FROM (SELECT ?::VARCHAR AS w)"
    assert CONNECTION.execute(sql, [word]).fetchall() == [(reason,)]
