"""What a copy has to do to follow its source, decided from schemas alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

from meltline.errors import UserError
from meltline.kernels.widen import Widening
from meltline.lake.evolution import Evolution, NewColumn, PartitionStep, SchemaSteps, SpecSteps
from meltline.model.table_like import TableLike
from meltline.sinks.iceberg.following import plan_evolution
from meltline.sinks.iceberg.source_fields import SourceFields, is_shared
from tests.unit.kernels.conversion import optional, required
from tests.unit.kernels.tables import target

ID, NAME = required(1, "id", LongType()), optional(2, "name", StringType())
DAY = optional(3, "day", DateType())
INFO = optional(4, "info", StructType(optional(5, "a", IntegerType()),
                                      optional(6, "b", StringType())))
LIST = optional(7, "l", ListType(8, StructType(optional(9, "x", LongType())), False))
MAP = optional(10, "m", MapType(11, StringType(), 12, StructType(optional(13, "v", FloatType())),
                                False))
FIELDS = (ID, NAME, DAY, INFO, LIST, MAP)


def like(
    *fields: NestedField, spec: PartitionSpec | None = None, identifiers: tuple[int, ...] = (),
    living: tuple[int, ...] = (),
) -> TableLike:
    schema = Schema(*fields, identifier_field_ids=list(identifiers))
    return TableLike(schema.model_dump_json(), (spec or PartitionSpec()).model_dump_json(), 2,
                     "source", living=frozenset(living))


def evolution(
    before: TableLike, now: TableLike, copy: tuple[NestedField, ...] | None = None,
    known: SourceFields | None = None,
) -> Evolution | None:
    """Of a copy that looks as the source did before, or has other fields."""
    schema = Schema.model_validate_json(before.schema_json)
    if copy is not None:
        schema = Schema(*copy, identifier_field_ids=schema.identifier_field_ids)
    spec = PartitionSpec.model_validate_json(before.spec_json or "")
    mine = replace(target(Path("/t"), schema), schema_json=schema.model_dump_json(),
                   spec_json=spec.model_dump_json())
    cut = {field.source_id for field in spec.fields}
    return plan_evolution(known or SourceFields.of(before), mine, now, cut)


def steps(now: tuple[NestedField, ...], before: tuple[NestedField, ...] = FIELDS) -> SchemaSteps:
    found = evolution(like(*before), like(*now))
    assert found is not None
    assert found.spec == SpecSteps()
    return found.schema


def test_nothing_is_to_be_done_for_a_copy_that_looks_like_its_source() -> None:
    assert evolution(like(*FIELDS), like(*FIELDS)) is None
    assert evolution(like(*FIELDS), replace(like(*FIELDS), living=frozenset({99}))) is None


def test_columns_are_renamed_at_every_depth() -> None:
    now = (ID, optional(2, "title", StringType()), DAY,
           optional(4, "data", StructType(optional(5, "aa", IntegerType()),
                                          optional(6, "b", StringType()))),
           optional(7, "l", ListType(8, StructType(optional(9, "y", LongType())), False)),
           optional(10, "m", MapType(11, StringType(), 12,
                                     StructType(optional(13, "w", FloatType())), False)))
    assert steps(now) == SchemaSteps(renames=(
        ("name", "title"), ("info", "data"), ("info.a", "aa"), ("l.element.x", "y"),
        ("m.value.v", "w")))


def test_a_column_that_is_dropped_takes_along_what_is_inside() -> None:
    inner = optional(4, "info", StructType(optional(6, "b", StringType())))
    assert steps((ID, DAY, inner, LIST, MAP)) == SchemaSteps(drops=("name", "info.a"))
    assert steps((ID, NAME, DAY)) == SchemaSteps(drops=("info", "l", "m"))


def test_a_column_that_is_added_again_is_another_one() -> None:
    again = optional(14, "name", IntegerType())
    assert steps((ID, again, DAY, INFO, LIST, MAP)) == SchemaSteps(
        drops=("name",), adds=(NewColumn(None, again.model_dump_json()),),
        moves=(("name", "id"),))


def test_new_fields_go_into_structs_by_their_new_paths() -> None:
    new = optional(14, "c", LongType())
    now = optional(4, "data", StructType(*INFO.field_type.fields, new))  # type: ignore[attr-defined]
    assert steps((ID, NAME, DAY, now, LIST, MAP)) == SchemaSteps(
        renames=(("info", "data"),), adds=(NewColumn("data", new.model_dump_json()),))


def test_two_columns_that_change_names_keep_their_values() -> None:
    now = (ID, optional(2, "day", StringType()), optional(3, "name", DateType()))
    assert steps(now, (ID, NAME, DAY)) == SchemaSteps(
        renames=(("name", "day"), ("day", "name")))


@pytest.mark.parametrize(
    ("was", "is_", "widening"),
    [(IntegerType(), LongType(), Widening("x", "long")),
     (FloatType(), DoubleType(), Widening("x", "double")),
     (DecimalType(5, 2), DecimalType(9, 2), Widening("x", "decimal(9, 2)"))],
)  # fmt: skip
def test_columns_are_widened_and_relaxed(
    was: IntegerType, is_: LongType, widening: Widening
) -> None:
    assert steps((optional(1, "x", is_),), (optional(1, "x", was),)) == SchemaSteps(
        widened=(widening,))
    assert steps((optional(1, "x", is_),), (required(1, "x", was),)) == SchemaSteps(
        widened=(replace(widening, optional=True),))


def test_a_copy_that_is_wider_or_looser_already_stays_so() -> None:
    before = like(required(1, "x", IntegerType()))
    assert evolution(before, before, copy=(optional(1, "x", LongType()),)) is None


def test_columns_are_moved_to_where_the_source_has_them() -> None:
    assert steps((DAY, ID, NAME), (ID, NAME, DAY)) == SchemaSteps(moves=(("day", None),))
    new = optional(4, "new", LongType())
    assert steps((ID, new, NAME), (ID, NAME)) == SchemaSteps(
        adds=(NewColumn(None, new.model_dump_json()),), moves=(("new", "id"),))


def test_columns_of_the_copys_own_are_left_alone() -> None:
    own = optional(50, "loaded", StringType())
    assert evolution(like(ID, NAME), like(ID, NAME), copy=(own, ID, NAME)) is None
    found = evolution(like(ID, NAME), like(ID), copy=(own, ID, NAME))
    assert found is not None
    assert found.schema == SchemaSteps(drops=("name",))


def test_a_column_that_is_there_under_the_name_already_serves() -> None:
    found = evolution(like(ID), like(ID, NAME), copy=(ID, optional(9, "name", StringType())))
    assert found is not None
    assert found.schema == SchemaSteps()
    assert '"2":"name"' in found.properties["meltline.source-fields"]


def test_a_column_that_somebody_dropped_from_the_copy_comes_back() -> None:
    found = evolution(like(ID, NAME), like(ID, NAME), copy=(ID,))
    assert found is not None
    assert found.schema == SchemaSteps(adds=(NewColumn(None, NAME.model_dump_json()),))


def test_a_field_that_an_older_snapshot_lacks_is_not_dropped() -> None:
    """After a rollback the newest snapshot may be older than a column that the table has."""
    assert evolution(like(ID, NAME), like(ID, living=(1, 2))) is None


def test_a_dropped_column_that_comes_back_cannot_be_followed() -> None:
    before = like(ID, DAY)
    with pytest.raises(UserError, match='column "name" was dropped at the source and is there'):
        evolution(before, like(ID, NAME, DAY))


def test_identifier_fields_follow_those_of_the_source() -> None:
    region = required(2, "region", StringType())
    before = like(ID, region, identifiers=(1,))
    found = evolution(before, like(ID, region, identifiers=(1, 2)))
    assert found is not None
    assert found.schema == SchemaSteps(identifiers=("id", "region"))
    found = evolution(before, like(required(1, "key", LongType()), region, identifiers=(1,)))
    assert found is not None
    assert found.schema == SchemaSteps(renames=(("id", "key"),), identifiers=("key",))
    found = evolution(before, like(region, identifiers=(2,)))
    assert found is not None
    assert found.schema == SchemaSteps(drops=("id",), identifiers=("region",))


def test_identifier_fields_that_the_copy_cannot_have_are_left_out() -> None:
    new = required(5, "key", LongType())
    found = evolution(like(ID, identifiers=(1,)), like(ID, new, identifiers=(5,)))
    assert found is not None
    assert found.schema.identifiers == ()


def spec(*fields: PartitionField) -> PartitionSpec:
    return PartitionSpec(*fields, spec_id=0)


BY_NAME = PartitionField(2, 1000, IdentityTransform(), "name")
BY_DAY = PartitionField(3, 1001, DayTransform(), "day_day")
BY_ID = PartitionField(1, 1002, BucketTransform(4), "id_bucket")


def test_the_partition_spec_follows() -> None:
    found = evolution(like(ID, NAME, DAY, spec=spec(BY_NAME, BY_DAY)),
                      like(ID, NAME, DAY, spec=spec(BY_DAY, BY_ID)))
    assert found is not None
    assert found.schema == SchemaSteps()
    assert found.spec == SpecSteps(
        removes=("name",), adds=(PartitionStep("id_bucket", "id", "bucket[4]"),))


def test_a_column_that_partitions_were_cut_by_is_set_aside() -> None:
    region, by_region = required(2, "name", StringType()), spec(BY_NAME)
    key, again = optional(9, "key", LongType()), optional(10, "name", LongType())
    by_key = PartitionField(9, 1003, BucketTransform(4), "key_bucket")
    found = evolution(like(ID, region, spec=by_region), like(ID, key, again, spec=spec(by_key)))
    assert found is not None
    assert found.schema == SchemaSteps(
        renames=(("name", "name_dropped"),), widened=(Widening("name", optional=True),),
        adds=(NewColumn(None, key.model_dump_json()), NewColumn(None, again.model_dump_json())))
    assert found.spec == SpecSteps(
        removes=("name",), adds=(PartitionStep("key_bucket", "key", "bucket[4]"),))


def test_a_name_that_is_taken_is_not_given_again() -> None:
    own = optional(50, "name_dropped", StringType())
    found = evolution(like(ID, NAME, spec=spec(BY_NAME)), like(ID), copy=(ID, NAME, own))
    assert found is not None
    assert found.schema.renames == (("name", "name_dropped2"),)


def test_a_partition_field_may_only_change_its_name() -> None:
    named = PartitionField(3, 1001, DayTransform(), "at")
    found = evolution(like(ID, DAY, spec=spec(BY_DAY)), like(ID, DAY, spec=spec(named)))
    assert found is not None
    assert found.spec == SpecSteps(renames=(("day_day", "at"),))


def test_a_spec_of_the_copys_own_stays_until_that_of_the_source_changes() -> None:
    before = like(ID, NAME, spec=spec(BY_ID))
    known = SourceFields.of(like(ID, NAME, spec=spec(BY_NAME)))
    assert evolution(before, like(ID, NAME, spec=spec(BY_NAME)), known=known) is None


def test_a_spec_that_does_not_fit_the_snapshot_waits() -> None:
    before = like(ID, NAME, spec=spec(BY_NAME))
    assert evolution(before, replace(before, spec_json=None)) is None


def test_the_property_survives_writing_and_reading() -> None:
    known = SourceFields.of(like(*FIELDS, spec=spec(BY_DAY), identifiers=(1,)))
    assert SourceFields.load(known.properties()) == known
    assert SourceFields.load({}) is None


def test_a_table_with_the_token_of_another_lane_is_shared() -> None:
    assert not is_shared({"meltline.token.p.lane": "", "x": ""}, "meltline.token.p.lane")
    assert is_shared({"meltline.token.p.other": ""}, "meltline.token.p.lane")
