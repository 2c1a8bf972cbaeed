"""What the workers know of a table: plain text, so that it travels to them as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema

TARGET_FILE_SIZE = "write.target-file-size-bytes"
DEFAULT_TARGET_FILE_SIZE = 512 << 20


@dataclass(frozen=True)
class TableTarget:
    """A table as it was when the epoch began to be written."""

    table: str
    uuid: str
    schema_json: str
    spec_json: str
    location: str
    properties: Mapping[str, str]
    io_properties: Mapping[str, str] = field(repr=False)
    format_version: int = 2

    @cached_property
    def schema(self) -> Schema:
        return Schema.model_validate_json(self.schema_json)

    @cached_property
    def spec(self) -> PartitionSpec:
        return PartitionSpec.model_validate_json(self.spec_json)

    @property
    def data_location(self) -> str:
        own = self.properties.get("write.data.path")
        return (own or f"{self.location}/data").rstrip("/")

    @property
    def target_file_size(self) -> int:
        return int(self.properties.get(TARGET_FILE_SIZE, DEFAULT_TARGET_FILE_SIZE))
