"""Footers: found at the end of a file, and told apart by the schema at their front."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from meltline.kernels.connection import connect
from meltline.kernels.parquet_footer import MOST, read_footer, schema_part
from meltline.kernels.parquet_scan import ParquetScan
from meltline.kernels.storage import open_storage
from meltline.model.content import DataFile


def write(path: Path, ids: dict[str, int], rows: int = 1, **options: object) -> str:
    fields = [pa.field(name, pa.int64() if id_ % 2 else pa.string(),
                       metadata={"PARQUET:field_id": str(id_)}) for name, id_ in ids.items()]
    values = [list(range(rows)) if id_ % 2 else ["v"] * rows for id_ in ids.values()]
    pq.write_table(pa.table(values, pa.schema(fields)), path, **options)
    return str(path)


def test_whatever_the_rows_the_same_columns_begin_alike(tmp_path: Path) -> None:
    small = read_footer(write(tmp_path / "a", {"x": 1, "y": 2}))
    large = read_footer(write(tmp_path / "b", {"x": 1, "y": 2}, 5000, row_group_size=10))
    assert len(large) > MOST > len(small)
    part = schema_part(small)
    assert large.startswith(part)
    assert len(part) < len(small) - 50


@pytest.mark.parametrize("ids", [
    {"x": 1}, {"x": 1, "y": 4}, {"x": 1, "z": 2}, {"y": 2, "x": 1}, {"x": 1, "y": 2, "z": 3}])
def test_other_columns_do_not(tmp_path: Path, ids: dict[str, int]) -> None:
    part = schema_part(read_footer(write(tmp_path / "a", {"x": 1, "y": 2})))
    other = schema_part(read_footer(write(tmp_path / "b", ids)))
    assert not part.startswith(other)
    assert not other.startswith(part)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"nothing of the kind", b"\xff" * 8 + b"PAR1"])
def test_a_file_that_is_none_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(ValueError, match="Parquet"):
        read_footer(str(tmp_path / "a"))


def test_a_scan_tells_files_apart_whichever_comes_first(tmp_path: Path) -> None:
    schema = Schema(NestedField(1, "x", LongType()), NestedField(2, "y", StringType()))
    plain = {"plain": {"x": 1, "y": 2}, "more": {"y": 2, "x": 1, "z": 3}}
    others = {"fewer": {"x": 1}, "renamed": {"x": 1, "name": 2}}
    files = {name: DataFile(write(tmp_path / name, ids), "parquet", 1, 1, 1)
             for name, ids in (plain | others).items()}
    (tmp_path / "broken").write_bytes(b"PAR1")
    files["broken"] = DataFile(str(tmp_path / "broken"), "parquet", 1, 1, 1)
    for names in (list(files), list(reversed(files))):
        scan = ParquetScan(connect(), open_storage({}), schema)
        assert {name for name in names if scan.is_plain(files[name])} == set(plain)
