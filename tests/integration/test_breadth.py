"""Many tables and partitions in one epoch, with few files open at a time.

`make test` has somewhat more of both than there may be files open, `make soak` five hundred tables
and two thousand partitions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from meltline.kernels.write import WriteLimits
from tests.catalogs import Properties
from tests.lab import Lab
from tests.rows import differences
from tests.waiting import wait_for_end

ROWS = 10
NOTE = "x" * 200
# a row group of some rows: every table and partition wants a file as soon as it has these
SMALL_GROUPS = {"write.parquet.row-group-size-bytes": "1000"}


@dataclass
class OpenFiles:
    """The most Parquet files of a warehouse that one worker process held open, by looking again
    and again while `watched`."""

    warehouse: str
    most: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def watched(self) -> Iterator[None]:
        thread = threading.Thread(target=self._look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            wait_for_end(thread)

    def _look(self) -> None:
        while not self._stop.wait(0.05):
            for process in psutil.Process().children(recursive=True):
                try:
                    paths = [file.path for file in process.open_files()]
                except psutil.Error:
                    continue
                self.most = max(self.most, sum(path.endswith(".parquet")
                                               and path.startswith(self.warehouse)
                                               for path in paths))


def events(tables: int, partitions: int) -> Iterator[dict[str, Any]]:
    for number in range(ROWS):
        for table in range(tables):
            yield {"table": f"t{table}", "id": table * ROWS + number, "note": NOTE}
        for part in range(partitions):
            yield {"part": part, "id": part * ROWS + number, "note": NOTE}


@pytest.fixture
def lab(
    tmp_path: Path, spark: SparkSession, make_catalog: Callable[[str], Properties]
) -> Lab:
    columns = [{"name": name, "type": kind}
               for name, kind in (("part", "long"), ("id", "long"), ("note", "string"))]
    return Lab(tmp_path, make_catalog("jdbc-sqlite"), spark, extra={
        "route": [{"tables": "/table != null"}, {"parts": "/part != null"}]}, sinks=[
        {"table_identifier": "wide.${/table}", "routes": ["tables"], "auto_create": True,
         "exclude_keys": ["table"], "table_properties": SMALL_GROUPS},
        {"table_identifier": "deep.parts", "routes": ["parts"], "auto_create": True,
         "schema": {"columns": columns, "partition_spec": [{"column": "part"}]},
         "table_properties": SMALL_GROUPS}])


@pytest.mark.parametrize(("tables", "partitions"), [
    (130, 260), pytest.param(500, 2000, marks=pytest.mark.soak)])
def test_more_tables_and_partitions_than_files_may_be_open(
    lab: Lab, tables: int, partitions: int
) -> None:
    most = WriteLimits().open_files
    assert tables > most
    assert partitions > most
    lab.drop_file(events(tables, partitions))
    files = OpenFiles(lab.catalog["warehouse"])
    with files.watched():
        (result,) = lab.run().results
    assert len(result.published) == tables + 1
    # one limit for each of the two sinks, and the file that goes beyond it before another is
    # closed; that files were seen at all shows that the looking works
    assert 0 < files.most <= 2 * (most + 1)
    assert result.report.peak_rss > 0

    for table in range(tables):
        (snapshot,) = lab.snapshots(f"wide.t{table}")
        assert snapshot.summary["total-records"] == str(ROWS)
    for table in range(0, tables, 50):
        wanted = [{"id": table * ROWS + number, "note": NOTE} for number in range(ROWS)]
        assert not differences(lab.rows(f"wide.t{table}"), wanted)
    wanted = [{"part": part, "id": part * ROWS + number, "note": NOTE}
              for part in range(partitions) for number in range(ROWS)]
    assert not differences(lab.rows("deep.parts"), wanted)
    name = f"{lab.catalog['name']}.deep.parts.partitions"
    assert lab.spark_sql().table(name).count() == partitions
