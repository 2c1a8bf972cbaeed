"""Where a task's files go, and what it reports of them."""

from __future__ import annotations

from pathlib import Path

from pyiceberg.schema import Schema
from pyiceberg.types import LongType

from meltline.engine.work import TaskPlace
from meltline.kernels.parquet import ClosedParquet
from meltline.model.file_closed import FileClosed
from meltline.sinks.iceberg.reports import file_reports, path_prefix
from tests.unit.kernels.conversion import required
from tests.unit.kernels.tables import target

PLACE = TaskPlace("orders", "files", 7, 0, 2, "run1.5")


def test_a_path_names_pipeline_epoch_shard_and_attempt(tmp_path: Path) -> None:
    made = target(tmp_path, Schema(required(1, "k", LongType()), schema_id=4))
    folder = tmp_path.as_posix()
    assert path_prefix(made, PLACE) == f"{folder}/data/orders/epoch=7/2-run1.5"


def test_reports_are_sealed_and_complete(tmp_path: Path) -> None:
    made = target(tmp_path, Schema(required(1, "k", LongType()), schema_id=4))
    closed = [ClosedParquet(f"f{number}", 10 + number, 1000, "{}") for number in range(2)]
    reports = [FileClosed.from_json(text) for text in file_reports(made, PLACE, "batch", closed)]
    assert [(r.path, r.record_count, r.size, r.content) for r in reports] == [
        ("f0", 10, 1000, "{}"), ("f1", 11, 1000, "{}")]
    assert {(r.table, r.epoch, r.batch_id, r.shard, r.schema_id, r.spec_id, r.kind)
            for r in reports} == {("db.t", 7, "batch", 2, 4, 3, "data")}


def test_no_files_no_reports(tmp_path: Path) -> None:
    made = target(tmp_path, Schema(required(1, "k", LongType())))
    assert file_reports(made, PLACE, "batch", []) == ()
