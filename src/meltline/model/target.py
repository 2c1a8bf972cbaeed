"""What the workers know of a table: plain text, so that it travels to them as it is."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import SortOrder

from meltline.errors import UserError
from meltline.model.schema_text import load_schema

UNSORTED = '{"order-id":0,"fields":[]}'


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
    sort_json: str = UNSORTED

    @cached_property
    def schema(self) -> Schema:
        try:
            return load_schema(self.schema_json)
        except (ValueError, TypeError, NotImplementedError) as error:
            # a default value of nanoseconds, or a type that is newer than this version
            raise UserError(f"the schema of table {self.table} cannot be read: "
                            f"{str(error).splitlines()[0]}",
                            hint="drop the column, or its default value") from None

    @cached_property
    def spec(self) -> PartitionSpec:
        return PartitionSpec.model_validate_json(self.spec_json)

    @cached_property
    def sort_order(self) -> SortOrder:
        return SortOrder.model_validate_json(self.sort_json)

    @property
    def data_location(self) -> str:
        places = ["write.data.path", *(["write.object-storage.path"] if self.spreads else []),
                  "write.folder-storage.path"]
        own = next((found for key in places if (found := self.properties.get(key))), None)
        return (own or f"{self.location}/data").rstrip("/")

    @property
    def spreads(self) -> bool:
        """Whether files are spread over many prefixes, which object stores like."""
        return self.properties.get("write.object-storage.enabled", "").lower() == "true"

    def spread(self, path: str) -> str:
        """The path of a file below `data_location`, with directories made of its hash in front
        when files are spread, as Iceberg's own object storage layout has them."""
        if not self.spreads:
            return path
        name = path.removeprefix(f"{self.data_location}/")
        bits = f"{int(hashlib.sha256(name.encode()).hexdigest()[:5], 16):020b}"
        return f"{self.data_location}/{bits[:4]}/{bits[4:8]}/{bits[8:12]}/{bits[12:]}/{name}"
