"""A table as the workers know it."""

from __future__ import annotations

import pickle
import re
from typing import Any

import pytest

from meltline.errors import UserError
from meltline.model.target import TableTarget

SCHEMA = ('{"type":"struct","schema-id":7,"fields":['
          '{"id":1,"name":"k","required":true,"type":"long"}]}')
SPEC = '{"spec-id":3,"fields":[{"name":"p","transform":"identity","source-id":1,"field-id":1000}]}'


def target(**changes: Any) -> TableTarget:
    settings: dict[str, Any] = {
        "table": "db.t", "uuid": "u", "schema_json": SCHEMA, "spec_json": SPEC,
        "location": "s3://b/db/t", "properties": {}, "io_properties": {"s3.secret": "hush"}}
    return TableTarget(**{**settings, **changes})


def test_schema_and_spec_are_parsed() -> None:
    assert target().schema.schema_id == 7
    assert target().schema.find_field("k").required
    assert target().spec.spec_id == 3


@pytest.mark.parametrize("field", [
    '"type":"timestamp_ns","write-default":"2026-01-01T00:00:00.000000000"', '"type":"unheard-of"'])
def test_a_schema_that_cannot_be_read_is_an_error_of_the_user(field: str) -> None:
    made = target(schema_json=SCHEMA.replace('"type":"long"', field))
    with pytest.raises(UserError, match=r"the schema of table db\.t cannot be read: "):
        _ = made.schema


LOCATIONS = [
    ({}, "s3://b/db/t/data"),
    ({"write.data.path": "s3://other/place/"}, "s3://other/place"),
    ({"write.data.path": ""}, "s3://b/db/t/data"),
    ({"write.folder-storage.path": "s3://f", "write.object-storage.path": "s3://o"}, "s3://f"),
    ({"write.object-storage.enabled": "true", "write.object-storage.path": "s3://o"}, "s3://o"),
]


@pytest.mark.parametrize(("properties", "expected"), LOCATIONS, ids=repr)
def test_where_data_goes(properties: dict[str, str], expected: str) -> None:
    assert target(properties=properties).data_location == expected


SPREAD = {"write.object-storage.enabled": "true"}


def test_files_are_spread_when_the_table_asks_for_it() -> None:
    made = target(properties=SPREAD)
    paths = [made.spread(f"{made.data_location}/p/epoch=1/{i}.parquet") for i in range(50)]
    found = [re.fullmatch(r"s3://b/db/t/data/([01]{4}/[01]{4}/[01]{4}/[01]{8})/p/epoch=1/\d+.parquet",
                          path) for path in paths]
    assert len({one and one[1] for one in found} - {None}) == 50
    assert target().spread("s3://b/db/t/data/x") == "s3://b/db/t/data/x"


def test_secrets_are_not_shown() -> None:
    assert "hush" not in repr(target())


def test_a_target_travels_to_workers() -> None:
    made = target()
    assert made.schema
    assert pickle.loads(pickle.dumps(made)).schema_json == SCHEMA
