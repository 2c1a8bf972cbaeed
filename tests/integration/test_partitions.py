"""Every partition transform: our files lie in the partitions that Spark would have chosen."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from tests.catalogs import Properties
from tests.lab import Lab

EVENTS = [
    {"n": n, "s": s, "d": d, "t": t, "m": m}
    for n, s, d, t, m in [
        (1, "alpha", "2024-02-29", "2024-02-29T23:59:59.999999Z", "10.65"),
        (-1, "β-unicode-long-text", "1969-12-31", "1969-12-31T23:30:00+02:00", "-0.01"),
        (9_007_199_254_740_993, "", "1970-01-01", "1970-01-01T00:00:00Z", "99999999.99"),
        (None, None, None, None, None),
        (34, "iceberg", "2017-11-16", "2017-11-16T22:31:08Z", "14.20"),
    ]]
COLUMNS = {"n": "long", "s": "string", "d": "date", "t": "timestamptz", "m": "decimal(12,2)"}
SPECS = [
    ("n", "identity"), ("n", "bucket[7]"), ("n", "truncate[10]"), ("s", "identity"),
    ("s", "bucket[16]"), ("s", "truncate[3]"), ("d", "identity"), ("d", "year"), ("d", "month"),
    ("d", "day"), ("d", "bucket[5]"), ("t", "year"), ("t", "month"), ("t", "day"), ("t", "hour"),
    ("t", "bucket[5]"), ("m", "identity"), ("m", "bucket[9]"), ("m", "truncate[50]"),
    ("n", "void"),
]


@pytest.fixture(scope="module")
def lab(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession,
    make_catalog: Callable[[str], Properties],
) -> Lab:
    lab = Lab(tmp_path_factory.mktemp("partitions"), make_catalog("jdbc-sqlite"), spark)
    lab.sinks = [
        {"table_identifier": f"p.t{i}", "auto_create": True, "schema": {
            "columns": [{"name": n, "type": t} for n, t in COLUMNS.items()],
            "partition_spec": [{"column": column, "transform": transform}]}}
        for i, (column, transform) in enumerate(SPECS)]
    lab.drop_file(EVENTS)
    lab.run()
    return lab


@pytest.mark.parametrize("number", range(len(SPECS)), ids=lambda i: f"{SPECS[i][0]}-{SPECS[i][1]}")
def test_partitions_are_those_of_spark(lab: Lab, spark: SparkSession, number: int) -> None:
    rows = lab.rows(f"p.t{number}")  # also makes the catalog known to Spark
    assert len(rows) == len(EVENTS)
    ours = f"{lab.catalog['name']}.p.t{number}"
    theirs = f"{lab.catalog['name']}.p.spark{number}"
    table = lab.table(f"p.t{number}")
    lab.open_catalog().create(f"p.spark{number}", table.target().schema_json,
                              table.target().spec_json)
    spark.table(ours).writeTo(theirs).append()
    query = "SELECT CAST(partition AS STRING) AS p, record_count AS c FROM {}.partitions"
    found = {(row.p, row.c) for row in spark.sql(query.format(ours)).collect()}
    wanted = {(row.p, row.c) for row in spark.sql(query.format(theirs)).collect()}
    assert found == wanted, json.dumps(EVENTS)
