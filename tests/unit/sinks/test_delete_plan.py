"""How rows leave a table, decided from the table as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import (
    DateType,
    DoubleType,
    FloatType,
    ListType,
    LongType,
    StringType,
    StructType,
)

from meltline.config.sink_iceberg import DeleteMode
from meltline.errors import UserError
from meltline.model.target import TableTarget
from meltline.sinks.iceberg.delete_plan import DeletePlan, plan_deletes
from tests.unit.kernels.conversion import optional, required
from tests.unit.kernels.tables import spec, target

FIELDS = [
    required(1, "id", LongType()), optional(2, "name", StringType()),
    optional(3, "x", DoubleType()), optional(4, "y", FloatType()), optional(5, "day", DateType()),
    required(6, "s", StructType(required(7, "id", LongType()))),
    optional(8, "l", ListType(9, LongType(), False))]


def table(
    by: PartitionSpec | None = None, version: int = 2, identifiers: tuple[int, ...] = ()
) -> TableTarget:
    schema = Schema(*FIELDS, identifier_field_ids=list(identifiers))
    made = target(Path("/t"), schema, by)
    return TableTarget(**{**made.__dict__, "format_version": version})


@pytest.mark.parametrize(
    ("version", "mode", "chosen"),
    [(2, None, "equality"), (3, None, "position"), (4, None, "position"),
     (3, "equality", "equality"), (2, "position", "position"),
     (2, "copy-on-write", "copy-on-write"), (1, "copy-on-write", "copy-on-write")],
)  # fmt: skip
def test_the_mode_follows_the_format_version(
    version: int, mode: DeleteMode | None, chosen: DeleteMode
) -> None:
    assert plan_deletes(table(version=version), 1, ["id"], mode).mode == chosen


@pytest.mark.parametrize("mode", [None, "equality", "position"])
def test_version_1_knows_no_deleted_rows(mode: DeleteMode | None) -> None:
    with pytest.raises(UserError) as raised:
        plan_deletes(table(version=1), 1, ["id"], mode)
    assert raised.value.what == (
        f"table db.t has format version 1, which knows no deleted rows: "
        f"delete_mode {mode or 'equality'} cannot be used")
    assert "copy-on-write" in str(raised.value.hint)


def test_identifiers_of_the_yaml_or_of_the_table() -> None:
    assert plan_deletes(table(), 1, ["name", "id", "name"], None).identifiers == ("name", "id")
    assert plan_deletes(table(identifiers=(1,)), 1, [], None).identifiers == ("id",)
    assert plan_deletes(table(identifiers=(1,)), 1, ["name"], None).identifiers == ("name",)


@pytest.mark.parametrize(
    ("identifiers", "wanted", "what", "hint"),
    [((), [], "nothing says which columns identify a row of table db.t",
      "set identifier_columns in the sink, or identifier fields in the table"),
     ((), ["idd"], 'table db.t has no column "idd" to identify its rows by',
      'did you mean "id"? valid columns: id, name, x, y, day, s, l'),
     ((7,), [], 'field "s.id" of table db.t is inside of another column and cannot identify rows',
      "set identifier_columns to columns of their own"),
     ((), ["s.id"],
      'field "s.id" of table db.t is inside of another column and cannot identify rows',
      "set identifier_columns to columns of their own"),
     *(((), [name], f'column "{name}" ({type_}) of table db.t cannot identify rows',
        "name columns of whole numbers, texts, dates or other exact values")
       for name, type_ in (("x", "double"), ("y", "float"), ("l", "list<long>"),
                           ("s", "struct<7: id: required long>")))],
)  # fmt: skip
def test_columns_that_cannot_identify_rows(
    identifiers: tuple[int, ...], wanted: list[str], what: str, hint: str
) -> None:
    with pytest.raises(UserError) as raised:
        plan_deletes(table(identifiers=identifiers), 1, wanted, None)
    assert (raised.value.what, raised.value.hint) == (what, hint)


@pytest.mark.parametrize(
    ("by", "specs", "scoped"),
    [(None, 1, True), (spec((1, IdentityTransform())), 1, True),
     (spec((1, BucketTransform(4)), (2, IdentityTransform())), 1, True),
     (spec((5, DayTransform())), 1, False),
     (spec((1, BucketTransform(4)), (5, DayTransform())), 1, False),
     (spec((1, IdentityTransform())), 2, False), (None, 2, False)],
)  # fmt: skip
def test_deletes_reach_one_partition_when_the_key_says_which(
    by: PartitionSpec | None, specs: int, scoped: bool
) -> None:
    assert plan_deletes(table(by), specs, ["id", "name"], "equality") == DeletePlan(
        "equality", ("id", "name"), scoped)
