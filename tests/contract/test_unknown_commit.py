"""The catalog does not say whether a commit happened: the batch id tells, and nothing doubles."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests import forgetful_proxy
from tests.lab import Lab
from tests.services.rest_catalog import RestCatalog
from tests.shop import ORDERS


@pytest.mark.parametrize("fault", ["lose", "swallow"])
def test_a_lost_answer_neither_loses_nor_doubles_rows(
    fault: str, tmp_path: Path, spark: SparkSession, rest_catalog: RestCatalog
) -> None:
    space = tmp_path.name
    with forgetful_proxy.started(rest_catalog.uri) as proxy:
        sink = {**ORDERS, "table_identifier": f"{space}.orders",
                "dlq": {"iceberg": {"table_identifier": f"{space}.letters"}}}
        lab = Lab(tmp_path, {"type": "rest", "uri": proxy.uri}, spark, sinks=[sink],
                  extra={"ledger": {"iceberg": {"namespace": f"{space}_ledger"}}})
        for number in range(3):
            lab.drop_file([{"id": number}])
            setattr(proxy, fault, 1)
            lab.run()
        assert len(proxy.lost) == 3, "the fault must have been met"
        assert sorted(row["id"] for row in lab.rows(f"{space}.orders")) == [0, 1, 2]
        assert lab.epochs(f"{space}.orders") == [1, 2, 3]
