"""Rows of plain files, fetched by their places."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from meltline.errors import Retryable
from meltline.kernels import parquet_scan
from meltline.kernels.connection import connect
from meltline.kernels.parquet_footer import read_footer, schema_part
from meltline.kernels.parquet_scan import ParquetScan
from meltline.kernels.storage import open_storage
from meltline.model.content import DataFile

SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
SIZES = (1, 3000, 10, 5000)


@pytest.fixture
def files(tmp_path: Path) -> list[DataFile]:
    made = []
    for number, size in enumerate(SIZES):
        fields = [pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"}),
                  pa.field("name", pa.string(), metadata={"PARQUET:field_id": "2"})]
        table = pa.table([list(range(size)), [f"{number}/{i}" for i in range(size)]],
                         pa.schema(fields))
        path = tmp_path / f"f{number}"
        pq.write_table(table, path, row_group_size=1000)
        made.append(DataFile(str(path), "parquet", path.stat().st_size, size, 1))
    return made


@pytest.mark.parametrize("share", [0.001, 0.01, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("mask_rows", [10, 1 << 22])
def test_wanted_rows_come_by_file_and_place(
    files: list[DataFile], share: float, mask_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_scan, "MASK_ROWS", mask_rows)
    dice = random.Random(share)
    places = [(file, place) for file, size in enumerate(SIZES) for place in range(size)
              if place == size - 1 or dice.random() < share]
    mixed = dice.sample(places, len(places))
    wanted = pa.table({"file": pa.array([file for file, _ in mixed], pa.int32()),
                       "pos": pa.array([place for _, place in mixed], pa.int64())})
    scan = ParquetScan(connect(), open_storage({}), SCHEMA)
    found = scan.fetch(files, wanted).to_pylist()
    assert found == [{"id": place, "name": f"{file}/{place}", "file": file, "pos": place}
                     for file, place in places]


def damage(file: DataFile) -> None:
    """Behind the schema, which is what says that a file is plain."""
    content = bytearray(Path(file.path).read_bytes())
    size = int.from_bytes(content[-8:-4], "little")
    part = len(schema_part(read_footer(file.path)))
    content[len(content) - 8 - size + part:-8] = b"\xff" * (size - part)
    Path(file.path).write_bytes(content)


@pytest.mark.parametrize("bad", range(len(SIZES)))
def test_an_error_names_the_file(files: list[DataFile], bad: int) -> None:
    damage(files[bad])
    order = [*(file for file in files if file is not files[bad]), files[bad]]
    wanted = pa.table({"file": pa.array([0, 3], pa.int32()), "pos": pa.array([0, 0], pa.int64())})
    with connect() as connection:
        scan = ParquetScan(connection, open_storage({}), SCHEMA)
        assert all(scan.is_plain(file) for file in order)
        for read in (lambda: scan.fetch(order, wanted),
                     lambda: scan.hashes(order, {file.path: 1 for file in order}),
                     lambda: list(scan.key_hashes(order, SCHEMA.fields[:1], 10))):
            with pytest.raises(Retryable, match=f"f{bad} cannot be read"):
                read()
