"""Whether files that were written for a table as it was may join the table as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, ListType, LongType, NestedField, StringType, StructType

from meltline.errors import Retryable
from meltline.model.target import TableTarget
from meltline.sinks.iceberg.delete_plan import DeletePlan
from meltline.sinks.iceberg.still_valid import Written, check_still_valid, why_not, written_for
from tests.unit.kernels.conversion import optional, required
from tests.unit.kernels.tables import target

ID, NAME = required(1, "id", IntegerType()), optional(2, "name", StringType())
STRUCT = optional(3, "s", StructType(optional(4, "a", LongType())))
LIST = optional(5, "l", ListType(6, StructType(optional(7, "a", LongType())), False))
FIELDS = (ID, NAME, STRUCT, LIST)


def table(*fields: NestedField, **changes: Any) -> TableTarget:
    return replace(target(Path("/t"), Schema(*fields)), **changes)


def written(plan: DeletePlan | None = None, used: tuple[int, ...] = (0,)) -> Written:
    return Written(table(*FIELDS), frozenset({0}), frozenset(used), plan)


EQUALITY = DeletePlan("equality", ("id",), scoped=True)


@pytest.mark.parametrize(
    "now",
    [FIELDS, (ID,), FIELDS[1:], (ID, NestedField(2, "renamed", StringType())),
     (required(1, "id", LongType()), *FIELDS[1:]), (optional(1, "id", IntegerType()), *FIELDS[1:]),
     (*FIELDS, optional(8, "new", LongType())),
     (*FIELDS, NestedField(8, "new", LongType(), required=True, initial_default=5,
                           write_default=5)),
     (*FIELDS, optional(8, "new", StructType(required(9, "inner", LongType())))),
     (ID, NAME, optional(3, "s", StructType(optional(4, "a", LongType()),
                                            optional(8, "b", LongType()))))],
    ids=["nothing", "dropped", "required dropped", "renamed", "promoted", "relaxed", "added",
         "required with a default", "required inside of a new one", "added inside"],
)  # fmt: skip
def test_changes_of_columns_that_do_no_harm(now: tuple[NestedField, ...]) -> None:
    check_still_valid(written(), table(*now), {0})


@pytest.mark.parametrize(
    ("now", "reason"),
    [((*FIELDS, required(8, "new", LongType())), 'required column "new" was added to table db.t'),
     ((ID, required(2, "name", StringType())), 'column "name" of table db.t became required'),
     ((ID, NAME, optional(3, "s", StructType(optional(4, "a", LongType()),
                                             required(8, "b", LongType())))),
      'required column "b" was added to table db.t'),
     ((ID, NAME, optional(5, "l", ListType(6, StructType(required(7, "a", LongType())), False))),
      'column "a" of table db.t became required'),
     ((ID, NAME, optional(5, "l", ListType(6, StructType(optional(7, "a", LongType())), True))),
      'column "element" of table db.t became required'),
     ((ID, optional(8, "name", StringType())), 'column "name" of table db.t was made anew')],
)  # fmt: skip
def test_changes_of_columns_that_files_do_not_bear(
    now: tuple[NestedField, ...], reason: str
) -> None:
    assert why_not(written(), table(*now), {0}) == reason
    with pytest.raises(Retryable, match="while the epoch was written: it is written again"):
        check_still_valid(written(), table(*now), {0})


def test_an_identifier_column_that_is_gone() -> None:
    assert why_not(written(EQUALITY), table(*FIELDS[1:]), {0}) == (
        'identifier column "id" of table db.t was dropped')
    renamed = (required(1, "key", IntegerType()), *FIELDS[1:])
    assert why_not(written(EQUALITY), table(*renamed), {0}) is None


@pytest.mark.parametrize(
    ("plan", "used", "now", "reason"),
    [(None, (0,), {0, 1}, None), (None, (0,), {1}, "partition spec 0 of table db.t was removed"),
     (EQUALITY, (0,), {0}, None),
     (EQUALITY, (0,), {0, 1},
      "table db.t got another partition spec, which its deletes would not reach"),
     (DeletePlan("equality", ("id",)), (0,), {0, 1}, None),
     (DeletePlan("equality", ("id",)), (0, 3), {0, 1},
      "partition spec 3 of table db.t was removed"),
     (DeletePlan("position", ("id",), scoped=True), (0,), {0, 1}, None)],
)  # fmt: skip
def test_partition_specs(
    plan: DeletePlan | None, used: tuple[int, ...], now: set[int], reason: str | None
) -> None:
    assert why_not(written(plan, used), table(*FIELDS), now) == reason


def test_another_table_of_the_same_name() -> None:
    assert why_not(written(), table(*FIELDS, uuid="other"), {0}) == (
        "table db.t was replaced by another one")


def test_what_was_written() -> None:
    made, key_spec = table(*FIELDS), '{"spec-id":9,"fields":[]}'
    assert written_for(made, frozenset({3}), None, None).used == {3}
    assert written_for(made, frozenset({3, 9}), EQUALITY, key_spec).used == {3, 9}
    assert written_for(made, frozenset({3}), DeletePlan("position", ("id",)), key_spec).used == {3}
