"""Where a task's files go, and what it reports of them."""

from __future__ import annotations

from collections.abc import Iterable

from meltline.engine.work import TaskPlace
from meltline.kernels.parquet import ClosedParquet
from meltline.model.file_closed import DATA, FileClosed
from meltline.model.target import TableTarget


def path_prefix(target: TableTarget, place: TaskPlace) -> str:
    """Unique per task attempt: a re-run never overwrites a file that may be referenced."""
    return (f"{target.data_location}/{place.pipeline}/epoch={place.epoch}/"
            f"{place.shard}-{place.attempt}")


def file_reports(
    target: TableTarget, place: TaskPlace, batch_id: str, closed: Iterable[ClosedParquet],
    kind: str = DATA,
) -> tuple[str, ...]:
    return tuple(FileClosed(
        table=target.table, epoch=place.epoch, batch_id=batch_id, shard=place.shard,
        schema_id=target.schema.schema_id, spec_id=target.spec.spec_id, path=file.path,
        kind=kind, record_count=file.record_count, size=file.size, content=file.content,
    ).sealed().to_json() for file in closed)
