"""Which columns tell rows apart: what the sink was told, the source, or the table itself."""

from __future__ import annotations

from pyiceberg.schema import Schema
from pyiceberg.types import LongType

from meltline.sinks.iceberg.identity import choose_identifiers, name_now
from tests.unit.kernels.conversion import optional

COLUMNS = ["Id", "region"]


def test_what_the_sink_was_told_goes_first() -> None:
    assert choose_identifiers(["region"], ["Id"], COLUMNS, False) == ["region"]
    assert choose_identifiers(["nowhere"], ["Id"], COLUMNS, False) == ["nowhere"]


def test_then_those_of_the_source_if_the_table_has_them_all() -> None:
    assert choose_identifiers([], ["region", "Id"], COLUMNS, False) == ["region", "Id"]
    assert choose_identifiers([], ["region", "other"], COLUMNS, False) == []
    assert choose_identifiers([], [], COLUMNS, False) == []


def test_names_are_spelled_as_the_table_spells_them_when_any_case_will_do() -> None:
    assert choose_identifiers(["ID"], [], COLUMNS, True) == ["Id"]
    assert choose_identifiers([], ["ID"], COLUMNS, True) == ["Id"]
    assert choose_identifiers([], ["ID"], COLUMNS, False) == []


def test_a_column_is_found_by_a_name_that_it_had() -> None:
    now = Schema(optional(1, "key", LongType()), optional(3, "v", LongType()))
    then = Schema(optional(1, "id", LongType()), optional(2, "gone", LongType()))
    earlier = [now.model_dump_json(), then.model_dump_json()]
    assert name_now("id", now, earlier) == "key"
    assert name_now("gone", now, earlier) == "gone"
    assert choose_identifiers(["id"], [], ["key", "v"], False,
                              lambda name: name_now(name, now, earlier)) == ["key"]
