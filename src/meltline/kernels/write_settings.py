"""Iceberg's write properties, as far as they say how files are written. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyiceberg.io.pyarrow import match_metrics_mode

from meltline.errors import UserError

MB = 1 << 20
CODECS = {"zstd": "zstd", "gzip": "gzip", "snappy": "snappy", "brotli": "brotli", "lz4": "lz4",
          "lz4_raw": "lz4", "uncompressed": "none", "none": "none"}
_LEVELLED = ("zstd", "gzip", "brotli")
_VERSIONS = {"v1": "1.0", "v2": "2.0"}
_BLOOM = "write.parquet.bloom-filter-"
_DICTIONARY = "write.parquet.dict-encoding-enabled.column."
_METRICS = "write.metadata.metrics."


REFUSED = {
    "write.format.default": ("parquet", "only parquet is written"),
    "write.delete.format.default": ("parquet", "only parquet is written"),
    "encryption.key-id": ("", "encrypted tables cannot be written"),
    "write.location-provider.impl": ("", "files are named by Meltline, not by a class of Java"),
}
"""Properties that can have no other value than this one, and why."""


@dataclass(frozen=True)
class WriteSettings:
    """`row_group` None: as large as memory allows. `dictionary` and `bloom` are by column name;
    a column that is not in them is treated as seems best."""

    codec: str = "zstd"
    level: int | None = None
    row_group: int | None = None
    page_size: int | None = None
    page_rows: int | None = None
    page_version: str = "1.0"
    dictionary_size: int | None = None
    dictionary: Mapping[str, bool] = field(default_factory=dict)
    bloom: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    target_file_size: int = 512 * MB


def write_settings(properties: Mapping[str, str], deletes: bool = False) -> WriteSettings:
    """Of data files, or of delete files, whose own properties go before. Raises UserError."""
    found = _Properties(properties, deletes)
    codec = found.one_of("compression-codec", CODECS) or "zstd"
    size = "write.delete.target-file-size-bytes" if deletes else "write.target-file-size-bytes"
    return WriteSettings(
        codec=codec, level=found.level(codec),
        row_group=found.number("row-group-size-bytes"),
        page_size=found.number("page-size-bytes"), page_rows=found.number("page-row-limit"),
        page_version=found.one_of("page-version", _VERSIONS) or "1.0",
        dictionary_size=found.number("dict-size-bytes"),
        dictionary=found.flags(_DICTIONARY), bloom={} if deletes else found.bloom(),
        target_file_size=found.whole(size) or (64 if deletes else 512) * MB)


def check_properties(table: str, properties: Mapping[str, str]) -> None:
    """Raises UserError for a property that cannot be followed and must not be ignored."""
    try:
        _check(properties)
    except UserError as error:
        raise UserError(f"table {table}: {error.what}", hint=error.hint) from None


def _check(properties: Mapping[str, str]) -> None:
    for key, (only, why) in REFUSED.items():
        value = properties.get(key) or only
        if value.lower() != only:
            raise _wrong(key, value, why, f'{key}: {only or chr(34) * 2}')
    for deletes in (False, True):
        write_settings(properties, deletes)
    for key, value in properties.items():
        if key == f"{_METRICS}default" or key.startswith(f"{_METRICS}column."):
            try:
                match_metrics_mode(value)
            except ValueError:
                raise _wrong(key, value, "valid are none, counts, truncate(n) and full",
                             f"{key}: truncate(16)") from None
    _Properties(properties, False).whole(f"{_METRICS}max-inferred-column-defaults")


class _Properties:
    """Properties with words and numbers checked. Those of Parquet are named by their last part."""

    def __init__(self, properties: Mapping[str, str], deletes: bool) -> None:
        self._all = properties
        self._deletes = deletes

    def _key(self, name: str) -> str:
        own = f"write.delete.parquet.{name}"
        return own if self._deletes and own in self._all else f"write.parquet.{name}"

    def one_of(self, name: str, values: Mapping[str, str]) -> str | None:
        key = self._key(name)
        value = self._all.get(key)
        if not value:
            return None
        if value.lower() not in values:
            words = ", ".join(values)
            raise _wrong(key, value, f"valid are {words}", f"{key}: {next(iter(values))}")
        return values[value.lower()]

    def number(self, name: str) -> int | None:
        return self.whole(self._key(name))

    def whole(self, key: str) -> int | None:
        value = self._all.get(key)
        if not value:
            return None
        if not value.isdecimal() or int(value) < 1:
            raise _wrong(key, value, "a whole number above 0 is needed", f"{key}: <number>")
        return int(value)

    def level(self, codec: str) -> int | None:
        """None also for codecs that have no levels: the property may be meant for another one."""
        key = self._key("compression-level")
        value = self._all.get(key)
        if not value or codec not in _LEVELLED:
            return None
        lowest = pa.Codec.minimum_compression_level(codec)
        highest = pa.Codec.maximum_compression_level(codec)
        if not re.fullmatch(r"-?\d+", value) or not lowest <= int(value) <= highest:
            raise _wrong(key, value, f"{codec} has no such level", f"{key}: <level>")
        return int(value)

    def flags(self, prefix: str) -> dict[str, bool]:
        return {key[len(prefix):]: value.lower() == "true" for key, value in self._all.items()
                if key.startswith(prefix)}

    def bloom(self) -> dict[str, dict[str, float]]:
        wanted = self.flags(f"{_BLOOM}enabled.column.")
        return {name: self._bloom_options(name) for name, on in wanted.items() if on}

    def _bloom_options(self, name: str) -> dict[str, float]:
        options: dict[str, Any] = {}
        if (ndv := self.whole(f"{_BLOOM}ndv.column.{name}")) is not None:
            options["ndv"] = ndv
        key = f"{_BLOOM}fpp.column.{name}"
        if value := self._all.get(key):
            try:
                options["fpp"] = float(value)
            except ValueError:
                raise _wrong(key, value, "a number is needed", f"{key}: 0.01") from None
        return options


def _wrong(key: str, value: str, why: str, instead: str) -> UserError:
    return UserError(f'property {key} is "{value}": {why}',
                     hint=f"change it in the table, or set write_properties: {{{instead}}} "
                          f"in the sink")
