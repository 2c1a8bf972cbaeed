"""The partition spec of a copy follows that of its source, and changes stay right across specs."""

from __future__ import annotations

import pytest

from tests.copy_lab import Copies, alter, create

MODES = ["equality", "position", "copy-on-write"]
ROWS = "(1, 'us', 1), (2, 'eu', 2), (3, 'us', 3), (4, 'eu', 4)"


@pytest.mark.parametrize("mode", MODES)
def test_changes_reach_rows_of_every_spec(copies: Copies, mode: str) -> None:
    copies.sink["delete_mode"] = mode
    copies.lab.tables[0]["identifier_columns"] = ["region", "id"]
    create(copies, "id BIGINT, region STRING, v INT", "PARTITIONED BY (region)", [ROWS])
    # scoped to the partition of the key, for as long as there is one spec
    copies.run("UPDATE {t} SET v = 10 WHERE id = 1")
    copies.run(*alter("ADD PARTITION FIELD bucket(2, id)"),
               "INSERT INTO {t} VALUES (5, 'us', 5), (6, 'eu', 6)")
    assert copies.partitions() == [("region", "identity"), ("id_bucket_2", "bucket[2]")]
    # rows that were written before the change, and after it
    copies.run("UPDATE {t} SET v = v + 100 WHERE id IN (1, 2, 5)", "DELETE FROM {t} WHERE id = 3")
    copies.run(*alter("DROP PARTITION FIELD region", "DROP PARTITION FIELD bucket(2, id)"),
               "UPDATE {t} SET v = -v", "DELETE FROM {t} WHERE id = 4")
    assert copies.partitions() == []
    assert copies.check() == 7


@pytest.mark.parametrize("mode", MODES)
def test_a_partition_column_is_renamed_and_then_dropped(copies: Copies, mode: str) -> None:
    copies.sink["delete_mode"] = mode
    create(copies, "id BIGINT, region STRING, v INT", "PARTITIONED BY (region)", [ROWS])
    copies.run(*alter("RENAME COLUMN region TO area"), "UPDATE {t} SET area = 'asia' WHERE id = 1")
    copies.run(*alter("REPLACE PARTITION FIELD region WITH truncate(2, area)"),
               "UPDATE {t} SET v = 20 WHERE id = 2")
    copies.run(*alter("DROP PARTITION FIELD truncate(2, area)", "ADD COLUMN day DATE",
                      "ADD PARTITION FIELD months(day)"),
               "INSERT INTO {t} VALUES (9, 'x', 9, DATE '2026-01-01')")
    assert copies.partitions() == [("day_month", "month")]
    copies.run(*alter("DROP COLUMN area"), "UPDATE {t} SET v = 0 WHERE id < 4")
    assert copies.names() == ["id", "area_dropped", "v", "day"]
    assert copies.check() == 5


def test_a_spec_that_a_snapshot_cannot_have_waits_for_its_column(copies: Copies) -> None:
    create(copies, "id BIGINT, v INT", rows=["(1, 1)"])
    copies.run("INSERT INTO {t} VALUES (2, 2)",
               *alter("ADD COLUMN day DATE", "ADD PARTITION FIELD day"))
    assert copies.partitions() == []
    copies.run("INSERT INTO {t} VALUES (3, 3, DATE '2026-01-01')")
    assert copies.partitions() == [("day", "identity")]
    assert copies.check() == 3
