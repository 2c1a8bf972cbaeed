"""The `iceberg` sink: events become rows of one table."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from meltline.config.catalog import CatalogBlock
from meltline.config.dlq import DlqBlock
from meltline.config.duration import Duration
from meltline.config.identifier import TableIdentifier
from meltline.config.properties import Properties, PropertyMap
from meltline.config.refused import Refused
from meltline.config.scalars import Flag, Text
from meltline.config.strict import Strict
from meltline.config.table_schema import SchemaBlock

OnError = Literal["fail", "drop"]


class IcebergSink(Strict):
    """Appends to an Iceberg table, one commit per epoch.

    The key `schema` is the attribute `table_schema`.
    """

    catalog: CatalogBlock | None = Field(
        default=None,
        description="The catalog that holds the table, as Iceberg's own properties. Without it, "
        "an SQLite catalog and a warehouse under `.meltline/` in the working directory.",
    )
    table_identifier: TableIdentifier = Field(description="The table to write to.")
    auto_create: Flag = Field(
        default=False, description="Whether to create the table when it does not exist."
    )
    schema_evolution: Flag = Field(
        default=False,
        description="Whether to add columns for keys the table does not know.",
    )
    table_schema: SchemaBlock | None = Field(
        default=None,
        alias="schema",
        description="The schema of a table that is created. "
        "Without it, the schema follows from the first events.",
    )
    table_properties: PropertyMap = Field(
        default=Properties(), description="Iceberg table properties of a table that is created."
    )
    table_location: Text | None = Field(
        default=None,
        description="Where a table that is created is stored. Without it, the catalog decides.",
    )
    commit_interval: Duration = Field(
        default=timedelta(minutes=5), description="The time from one commit to the next."
    )
    flush_interval: Duration = Field(
        default=timedelta(minutes=5),
        description="Accepted for compatibility with Data Prepper. Has no effect: files are "
        "written once per epoch.",
    )
    ack_poll_interval: Duration = Field(
        default=timedelta(seconds=5),
        description="Accepted for compatibility with Data Prepper. Has no effect: the source "
        "moves on when the epoch is published.",
    )
    dlq: DlqBlock | None = Field(
        default=None, description="Where rejected events go. Without it, the pipeline's `dlq`."
    )
    on_error: OnError = Field(
        default="fail",
        description="What rejected events do when there is no `dlq`: fail the epoch, or be "
        "dropped and counted. The pipeline's `on_error` serves when the sink names none.",
    )
    routes: tuple[Text, ...] = Field(
        default=(),
        description="The routes whose events this sink takes; `_default` takes the events of no "
        "route. Empty for every event.",
    )
    include_keys: tuple[Text, ...] = Field(
        default=(), description="The only keys of an event that are written. Empty for all."
    )
    exclude_keys: tuple[Text, ...] = Field(
        default=(), description="Keys of an event that are not written."
    )
    write_properties: PropertyMap = Field(
        default=Properties(),
        description="Iceberg `write.*` properties for what this sink writes; they go before the "
        "table's own.",
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.table_schema is not None and not self.auto_create:
            raise Refused(
                "schema is given but auto_create is not true: schema only serves to create a table",
                hint="set auto_create: true, or remove schema",
                at=("schema",),
            )
        if self.include_keys and self.exclude_keys:
            raise Refused(
                "include_keys and exclude_keys are given together",
                hint="keep one of the two",
                at=("exclude_keys",),
            )
        return self
