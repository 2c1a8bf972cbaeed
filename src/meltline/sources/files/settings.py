"""What the source `files` can be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from meltline.codecs.compression import COMPRESSIONS
from meltline.errors import UserError

CODECS = ("ndjson", "json", "csv", "parquet")
MISSING_FILES = ("stop", "skip")
MIB = 1 << 20


@dataclass(frozen=True)
class CsvSettings:
    """`header` names the columns; without it the first record does, if `detect_header` is set."""

    delimiter: str = ","
    quote_character: str = '"'
    header: tuple[str, ...] | None = None
    detect_header: bool = True

    def __post_init__(self) -> None:
        for name in ("delimiter", "quote_character"):
            value = getattr(self, name)
            if len(value) != 1 or not value.isascii() or value in "\r\n":
                raise UserError(f"{name} must be one ASCII character, not {value!r}")
        if self.delimiter == self.quote_character:
            raise UserError("delimiter and quote_character must differ")
        if self.header is not None and len(set(self.header)) < max(len(self.header), 1):
            raise UserError("header must name every column once")


@dataclass(frozen=True)
class FilesSettings:
    """Which files are events, and how they are read.

    - paths: globs (`*` `?` `[..]` `**`), local or on an object store (`s3://bucket/prefix/*.json`)
    - json_key: codec json only; the events are the array under this key of the document
    - compression: `automatic` goes by the suffix (.gz .gzip .zst .zstd .snappy); not for Parquet
    - settle_time: a file that changed less than this ago is left for later
    - missing_files: what to do with a planned file that is gone or has changed since
    - storage: properties of Iceberg's FileIO (s3.endpoint, s3.access-key-id, ...)
    - max_line_size: a longer line or CSV record is a bad event
    - split_size: about how many bytes one task gets at most
    """

    paths: tuple[str, ...]
    codec: Literal["ndjson", "json", "csv", "parquet"] = "ndjson"
    json_key: str | None = None
    csv: CsvSettings = field(default_factory=CsvSettings)
    compression: Literal["none", "gzip", "zstd", "snappy", "automatic"] = "automatic"
    settle_time: timedelta = timedelta(seconds=1)
    max_files_per_epoch: int = 10_000
    max_bytes_per_epoch: int = 16 << 30
    ignore_suffixes: tuple[str, ...] = ()
    missing_files: Literal["stop", "skip"] = "stop"
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)
    max_line_size: int = 64 * MIB
    split_size: int = 512 * MIB

    def __post_init__(self) -> None:
        if not self.paths:
            raise UserError("paths must name at least one file or pattern")
        for name, allowed in (
            ("codec", CODECS),
            ("compression", COMPRESSIONS),
            ("missing_files", MISSING_FILES),
        ):
            if getattr(self, name) not in allowed:
                raise UserError(
                    f"{name} is {getattr(self, name)!r}", hint=f"one of: {', '.join(allowed)}"
                )
        if self.json_key is not None and self.codec != "json":
            raise UserError("json_key goes with codec json only")
        for name in ("max_files_per_epoch", "max_bytes_per_epoch", "max_line_size", "split_size"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} must be at least 1")
        if self.max_files_per_epoch > MAX_FILES:
            raise UserError(f"max_files_per_epoch must be at most {MAX_FILES}")


MAX_FILES = 1 << 22
"""Files of one plan: their number and a place within the file share the 63 bits of `ord`."""
