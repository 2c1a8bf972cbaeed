"""What each reader can read, proved on tables that Spark and Iceberg's Java library wrote.

Equality deletes: DuckDB and iceberg-rust apply them, pyiceberg 0.12 refuses the table in so many
words. Position deletes (v2), deletion vectors (v3) and rewritten files: all three.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.catalogs import Properties
from tests.lab import Lab
from tests.readers.foreign import SHOP, WITH_NULL, write_foreign
from tests.readers.readers import CannotRead, Read
from tests.rows import differences

MODES = ("equality", "position", "copy-on-write")


@pytest.mark.parametrize(("version", "partitioned"), [(2, True), (3, False)])
@pytest.mark.parametrize("mode", MODES)
def test_every_reader_sees_the_same_rows_or_refuses(
    tmp_path: Path, spark: SparkSession, url_catalog: Properties, readers: dict[str, Read],
    mode: str, version: int, partitioned: bool,
) -> None:
    lab = Lab(tmp_path, url_catalog, spark)
    before, after = write_foreign(lab, mode, version, partitioned)
    first = lab.snapshots(SHOP)[0].snapshot_id
    metadata = lab.metadata_file(SHOP)
    assert differences(lab.rows(SHOP), after.values()) == ""
    for name, read in readers.items():
        assert differences(read(metadata, first), before.values()) == "", f"{name}, first snapshot"
        if name == "pyiceberg" and mode == "equality":
            with pytest.raises(CannotRead, match="equality deletes"):
                read(metadata, None)
        else:
            assert differences(read(metadata, None), after.values()) == "", name


def test_duckdb_refuses_an_equality_delete_of_the_null_partition(
    tmp_path: Path, spark: SparkSession, url_catalog: Properties, readers: dict[str, Read]
) -> None:
    """A fault of DuckDB 1.5.5, not of the table: iceberg-rust and Spark read it. When this test
    fails, DuckDB has mended it."""
    lab = Lab(tmp_path, url_catalog, spark)
    _, after = write_foreign(lab, "equality", 2, partitioned=True, regions=WITH_NULL)
    metadata = lab.metadata_file(SHOP)
    assert differences(lab.rows(SHOP), after.values()) == ""
    assert differences(readers["iceberg-rust"](metadata, None), after.values()) == ""
    with pytest.raises(CannotRead, match="Comparison on NULL values"):
        readers["duckdb"](metadata, None)
