"""The shop pipeline in a lab of its own, on any catalog, and the check of its tables."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from tests.catalogs import Properties
from tests.lab import Json, Lab
from tests.shop import ORDERS, PAID, ROUTES, Shop, check_books

MakeLab = Callable[..., Lab]


@pytest.fixture
def make_lab(
    make_catalog: Callable[[str], Properties], tmp_path_factory: pytest.TempPathFactory,
    spark: SparkSession,
) -> MakeLab:
    """`make_lab(kind, **source)`: nothing of a lab is shared with another one, but for a server.

    A REST server is one for all tests of the run, so every lab takes namespaces of its own.
    """

    def make(kind: str, **source: object) -> Lab:
        base = tmp_path_factory.mktemp("lab")
        space = base.name.replace("-", "_")
        letters: Json = {"iceberg": {"table_identifier": f"{space}.dead_letters"}}
        orders = {**ORDERS, "table_identifier": f"{space}.orders", "dlq": letters}
        paid = {**PAID, "table_identifier": f"{space}.paid"}
        return Lab(base, make_catalog(kind), spark, sinks=[orders, paid], source=dict(source),
                   extra={**ROUTES, "ledger": {"iceberg": {"namespace": f"{space}_ledger"}}})

    return make


def tables(lab: Lab) -> tuple[str, str, str]:
    """Orders, paid, dead letters."""
    orders, paid = lab.sinks
    return (orders["table_identifier"], paid["table_identifier"],
            orders["dlq"]["iceberg"]["table_identifier"])


def check_shop(lab: Lab, shop: Shop) -> None:
    """No event lost, none doubled, one snapshot per table and epoch."""
    orders, paid, letters = tables(lab)
    check_books(shop, lab.rows(orders), lab.rows(paid), lab.rows(letters))
    for table in (orders, paid, letters):
        epochs = lab.epochs(table)
        assert epochs == sorted(set(epochs)), f"one snapshot per epoch in {table}: {epochs}"
