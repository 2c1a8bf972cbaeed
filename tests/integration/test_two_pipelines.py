"""Pipelines that create and change the same table at the same time."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from meltline.kernels.infer import Addition, iceberg_schema
from meltline.lake.catalog import Catalog
from meltline.lake.jvm import Jvm
from meltline.lake.schema import add_columns
from tests.catalogs import Properties
from tests.lab import Lab
from tests.waiting import LONGEST

THREADS = 4
ROUNDS = 3
SINK: dict[str, Any] = {"auto_create": True, "schema_evolution": True,
                        "dlq": {"file": {"path": "dead"}}}


@pytest.fixture(params=["jdbc-sqlite", "rest"])
def properties(
    request: pytest.FixtureRequest, make_catalog: Callable[[str], Properties]
) -> Properties:
    return {**make_catalog(request.param), "name": f"two_{uuid.uuid4().hex[:8]}"}


def at_once(works: Sequence[Callable[[], Any]]) -> list[Any]:
    """Each in a thread of its own, all let go at the same moment."""
    ready = threading.Barrier(len(works), timeout=LONGEST)

    def run(work: Callable[[], Any]) -> Any:
        ready.wait()
        return work()

    with ThreadPoolExecutor(max_workers=len(works)) as pool:
        return list(pool.map(run, works))


def test_a_new_jdbc_catalog_is_opened_by_many_at_once(spark: SparkSession, tmp_path: Path) -> None:
    for round_ in range(ROUNDS):
        fresh = {"type": "jdbc", "uri": f"jdbc:sqlite:{tmp_path / f'{round_}.db'}",
                 "warehouse": str(tmp_path)}
        catalogs = at_once([partial(Catalog, Jvm(spark), fresh) for _ in range(THREADS)])
        catalogs[0].create("n.t", iceberg_schema({"struct": {"id": "long"}}))
        assert all(catalog.load("n.t") is not None for catalog in catalogs)
        for catalog in catalogs:
            catalog.close()


def test_one_table_is_created_and_every_column_added_once(
    spark: SparkSession, properties: Properties
) -> None:
    guesses = ["long", "string", "double", "boolean"]
    catalogs = [Catalog(Jvm(spark), properties) for _ in range(THREADS)]
    for round_ in range(ROUNDS):
        name = f"a_{uuid.uuid4().hex[:8]}.b.t{round_}"
        tables = at_once([
            partial(catalog.create, name, iceberg_schema({"struct": {"id": guess}}))
            for catalog, guess in zip(catalogs, guesses, strict=True)])
        assert len({table.uuid for table in tables}) == 1
        at_once([partial(add_columns, table, [Addition(None, "v", guess),
                                              Addition(None, f"only_{guess}", guess)])
                 for table, guess in zip(tables, guesses, strict=True)])
        found = catalogs[0].load(name)
        assert found is not None
        fields = {f.name: str(f.field_type) for f in found.target().schema.fields}
        assert fields["v"] in guesses
        assert fields == {"id": fields["id"], "v": fields["v"],
                          **{f"only_{guess}": guess for guess in guesses}}


@pytest.fixture
def labs(tmp_path: Path, spark: SparkSession, properties: Properties) -> list[Lab]:
    table = f"n_{uuid.uuid4().hex[:8]}.m.orders"
    made = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        made.append(Lab(tmp_path / name, properties, spark, pipeline=name,
                        sinks=[{"table_identifier": table, **SINK}]))
    return made


def run_both(labs: Sequence[Lab]) -> None:
    """Both have planned their epoch before either writes."""
    ready = threading.Barrier(len(labs), timeout=LONGEST)

    def run(lab: Lab) -> None:
        left = [ready]

        def wait(point: str) -> None:
            if point == "record" and left:
                left.pop().wait()

        try:
            lab.run(crash=wait)
        except BaseException:
            # one that fails before it gets there must not leave the other waiting
            ready.abort()
            raise

    at_once([partial(run, lab) for lab in labs])


def test_two_pipelines_begin_with_no_table(labs: list[Lab]) -> None:
    """The first committed type wins, the other's values are coerced or mismatches."""
    one, other = labs
    name = one.sinks[0]["table_identifier"]
    one.drop_file([{"id": id_, "v": id_} for id_ in range(10)])
    other.drop_file([{"id": 100 + id_, "v": f"{id_}" if id_ % 2 else "x"} for id_ in range(10)])
    run_both(labs)
    one.drop_file([{"id": 200 + id_, "w": 1.5, "s": {"a": 1}} for id_ in range(10)])
    other.drop_file([{"id": 300 + id_, "w": True, "s": {"b": "t"}} for id_ in range(10)])
    run_both(labs)

    found = {row["id"]: row for row in one.rows(name)}
    assert len(one.rows(name)) == len(found) == 40
    types = {f.name: str(f.field_type) for f in one.table(name).target().schema.fields}
    assert set(types) == {"id", "v", "w", "s"}
    if types["v"] == "long":
        assert [found[100 + id_]["v"] for id_ in range(4)] == [None, 1, None, 3]
    else:
        assert types["v"] == "string"
        assert [found[id_]["v"] for id_ in range(3)] == ["0", "1", "2"]
    values = {"double": (1.5, None), "boolean": (None, True)}[types["w"]]
    assert (found[200]["w"], found[300]["w"]) == values
    assert (found[200]["s"], found[300]["s"]) == ({"a": 1, "b": None}, {"a": None, "b": "t"})
