"""Write properties: what files look like that are written by them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, StringType

from meltline.errors import UserError
from meltline.kernels.parquet import ClosedParquet, equality_deletes
from meltline.kernels.write import TableWriter, WriteLimits
from meltline.kernels.write_settings import WriteSettings, check_properties, write_settings
from tests.unit.kernels.conversion import optional
from tests.unit.kernels.tables import table, target

SCHEMA = Schema(optional(1, "k", LongType()), optional(2, "t", StringType()))


def write(folder: Path, properties: dict[str, str], deletes: bool = False) -> list[ClosedParquet]:
    kind = {"content": equality_deletes([1])} if deletes else {}
    writer = TableWriter(target(folder, SCHEMA, properties=properties), f"{folder}/f",
                         WriteLimits(), **kind)
    for start in range(0, 40_000, 10_000):
        writer.add(table(SCHEMA, {"k": range(start, start + 10_000),
                                  "t": [f"{i % 7} and more" for i in range(10_000)]}))
    return writer.finish()


def column(files: list[ClosedParquet], name: str = "t") -> Any:
    found = pq.read_metadata(files[0].path).row_group(0)
    return next(found.column(i) for i in range(found.num_columns)
                if found.column(i).path_in_schema == name)


@pytest.mark.parametrize(("word", "codec"), [
    (None, "ZSTD"), ("zstd", "ZSTD"), ("GZIP", "GZIP"), ("snappy", "SNAPPY"),
    ("brotli", "BROTLI"), ("lz4", "LZ4"), ("uncompressed", "UNCOMPRESSED")])
def test_compression(tmp_path: Path, word: str | None, codec: str) -> None:
    properties = {"write.parquet.compression-codec": word} if word else {}
    assert column(write(tmp_path, properties)).compression == codec


def test_compression_level(tmp_path: Path) -> None:
    sizes = [sum(file.size for file in write(tmp_path, {
        "write.parquet.compression-codec": "zstd", "write.parquet.compression-level": level}))
        for level in ("1", "19")]
    assert sizes[0] != sizes[1]


def test_row_groups_are_no_larger_than_memory_allows(tmp_path: Path) -> None:
    [small] = write(tmp_path, {"write.parquet.row-group-size-bytes": "300000"})
    assert pq.read_metadata(small.path).num_row_groups > 1
    [large] = write(tmp_path, {"write.parquet.row-group-size-bytes": str(1 << 40)})
    assert pq.read_metadata(large.path).num_row_groups == 1
    limits = WriteLimits(row_group=1)
    writer = TableWriter(target(tmp_path, SCHEMA, properties={
        "write.parquet.row-group-size-bytes": str(1 << 40)}), f"{tmp_path}/f", limits)
    for _ in range(3):
        writer.add(table(SCHEMA, {"k": [1], "t": ["a"]}))
    [file] = writer.finish()
    assert pq.read_metadata(file.path).num_row_groups == 3


def pages(files: list[ClosedParquet]) -> int:
    """How long the page index of the column is: it grows with the number of pages."""
    data = Path(files[0].path).read_bytes()
    return len(data) - int(column(files, "k").total_compressed_size)


@pytest.mark.parametrize("key", ["write.parquet.page-size-bytes", "write.parquet.page-row-limit"])
def test_pages(tmp_path: Path, key: str) -> None:
    assert pages(write(tmp_path, {key: "100"})) > pages(write(tmp_path, {key: "10000000"}))


def test_page_version(tmp_path: Path) -> None:
    one, two = (write(tmp_path / word, {"write.parquet.page-version": word})[0].path
                for word in ("v1", "v2"))
    assert Path(one).read_bytes() != Path(two).read_bytes()
    assert pq.read_table(one) == pq.read_table(two)


def test_dictionaries(tmp_path: Path) -> None:
    by = "write.parquet.dict-encoding-enabled.column."
    assert column(write(tmp_path, {})).has_dictionary_page
    assert not column(write(tmp_path, {}), "k").has_dictionary_page
    assert not column(write(tmp_path, {f"{by}t": "false"})).has_dictionary_page
    assert column(write(tmp_path, {f"{by}k": "true"}), "k").has_dictionary_page
    limited = write(tmp_path, {f"{by}k": "true", "write.parquet.dict-size-bytes": "100"})
    assert "PLAIN" in column(limited, "k").encodings


def test_bloom_filters(tmp_path: Path) -> None:
    by = "write.parquet.bloom-filter-"
    [plain] = write(tmp_path, {})
    [bloom] = write(tmp_path, {f"{by}enabled.column.k": "true", f"{by}ndv.column.k": "40000",
                               f"{by}fpp.column.k": "0.01", f"{by}enabled.column.t": "false",
                               f"{by}enabled.column.other": "true"})
    assert bloom.size > plain.size + 20_000


def test_the_size_of_files(tmp_path: Path) -> None:
    groups = {"write.parquet.row-group-size-bytes": "100000"}
    assert len(write(tmp_path, {**groups, "write.target-file-size-bytes": "10000"})) > 2
    assert len(write(tmp_path, {**groups, "write.target-file-size-bytes": "100000000"})) == 1


def test_delete_files_have_their_own_properties(tmp_path: Path) -> None:
    properties = {"write.parquet.compression-codec": "gzip",
                  "write.delete.parquet.compression-codec": "snappy",
                  "write.delete.target-file-size-bytes": "77", "write.parquet.page-row-limit": "5"}
    assert write_settings(properties) == WriteSettings("gzip", page_rows=5)
    deletes = write_settings(properties, deletes=True)
    assert (deletes.codec, deletes.target_file_size, deletes.page_rows) == ("snappy", 77, 5)
    assert write_settings({}, deletes=True).target_file_size == 64 << 20
    assert column(write(tmp_path, properties, deletes=True)).compression == "SNAPPY"


def bounds(file: ClosedParquet) -> dict[str, Any]:
    content = json.loads(file.content)
    return {key: content[key]["keys"] for key in ("value-counts", "lower-bounds", "upper-bounds")}


@pytest.mark.parametrize(
    ("properties", "counted", "bounded"),
    [({}, [1, 2], [1, 2]), ({"default": "counts"}, [1, 2], []), ({"default": "none"}, [], []),
     ({"default": "none", "column.k": "full"}, [1], [1]), ({"column.t": "none"}, [1], [1]),
     ({"max-inferred-column-defaults": "1"}, [1], [1]),
     ({"max-inferred-column-defaults": "1", "default": "full"}, [1, 2], [1, 2]),
     ({"max-inferred-column-defaults": "1", "column.t": "counts"}, [1, 2], [1])],
)  # fmt: skip
def test_metrics_modes(
    tmp_path: Path, properties: dict[str, str], counted: list[int], bounded: list[int]
) -> None:
    [file] = write(tmp_path, {f"write.metadata.metrics.{k}": v for k, v in properties.items()})
    assert bounds(file) == {
        "value-counts": counted, "lower-bounds": bounded, "upper-bounds": bounded}


def test_truncated_bounds(tmp_path: Path) -> None:
    [file] = write(tmp_path, {"write.metadata.metrics.column.t": "truncate(3)"})
    lower = json.loads(file.content)["lower-bounds"]["values"][1]
    assert bytes.fromhex(lower) == b"0 a"


def test_columns_that_are_searched_by_have_metrics_in_the_widest_table(tmp_path: Path) -> None:
    schema = Schema(*(optional(i, f"c{i}", LongType()) for i in range(1, 131)))
    order = json.dumps({"order-id": 1, "fields": [{
        "source-id": 130, "transform": "identity", "direction": "asc",
        "null-order": "nulls-first"}]})
    writer = TableWriter(target(tmp_path, schema, sort=order), f"{tmp_path}/f", WriteLimits())
    writer.add(pa.table(table(schema, {f"c{i}": [i] for i in range(1, 131)})))
    assert bounds(writer.finish()[0])["lower-bounds"] == [*range(1, 101), 130]


REFUSED = [
    ("write.format.default", "orc", "only parquet is written"),
    ("write.delete.format.default", "avro", "only parquet is written"),
    ("encryption.key-id", "k", "encrypted tables cannot be written"),
    ("write.location-provider.impl", "a.B", "files are named by Meltline"),
    ("write.parquet.compression-codec", "lzo", "valid are zstd, gzip"),
    ("write.delete.parquet.compression-codec", "lzo", "valid are zstd, gzip"),
    ("write.parquet.compression-level", "high", "zstd has no such level"),
    ("write.parquet.compression-level", "99", "zstd has no such level"),
    ("write.parquet.row-group-size-bytes", "1.5", "a whole number above 0 is needed"),
    ("write.parquet.page-row-limit", "0", "a whole number above 0 is needed"),
    ("write.target-file-size-bytes", "big", "a whole number above 0 is needed"),
    ("write.parquet.page-version", "v3", "valid are v1, v2"),
    ("write.metadata.metrics.default", "some", "valid are none, counts, truncate"),
    ("write.metadata.metrics.column.k", "truncate(0)", "valid are none, counts, truncate"),
    ("write.metadata.metrics.max-inferred-column-defaults", "x", "a whole number above 0"),
]


@pytest.mark.parametrize(("key", "value", "why"), REFUSED)
def test_what_cannot_be_followed_is_refused(key: str, value: str, why: str) -> None:
    with pytest.raises(UserError) as raised:
        check_properties("shop.orders", {key: value})
    assert raised.value.what.startswith(f'table shop.orders: property {key} is "{value}": {why}')
    assert raised.value.hint is not None
    assert f"write_properties: {{{key}: " in raised.value.hint


def test_everything_else_is_fine() -> None:
    check_properties("shop.orders", {
        "write.format.default": "PARQUET", "write.parquet.compression-level": "3", "owner": "x",
        "write.location-provider.impl": "", "write.metadata.metrics.default": "truncate(8)"})
    check_properties("shop.orders", {"write.parquet.compression-codec": "snappy",
                                     "write.parquet.compression-level": "99"})
