"""The `iceberg` sink: events become rows of tables."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from meltline.config.catalog import CatalogBlock
from meltline.config.dlq import DlqBlock
from meltline.config.duration import Duration
from meltline.config.identifier import FormatText, TablePattern
from meltline.config.properties import Properties, PropertyMap
from meltline.config.refused import Refused
from meltline.config.scalars import Flag, Text
from meltline.config.strict import Strict
from meltline.config.table_block import TableBlock
from meltline.config.table_schema import SchemaBlock
from meltline.expressions import is_static

OnError = Literal["fail", "drop"]
DeleteMode = Literal["equality", "position", "copy-on-write"]


class IcebergSink(Strict):
    """Writes to Iceberg tables, one commit per table and epoch.

    The key `schema` is the attribute `table_schema`.
    """

    catalog: CatalogBlock | None = Field(
        default=None,
        description="The catalog that holds the table, as Iceberg's own properties. Without it, "
        "an SQLite catalog and a warehouse under `.meltline/` in the working directory.",
    )
    table_identifier: TablePattern | None = Field(
        default=None,
        description="The table to write to. With `${...}` each event names its own: dots split "
        "namespaces, so `copy.${/table}` of `shop.orders` is the table `orders` in `copy.shop`.",
    )
    tables: tuple[TableBlock, ...] = Field(
        default=(),
        description="Instead of `table_identifier`: several tables that share the other keys. An "
        "event goes to every table whose `route_regex` matches; without `route_field`, to all.",
    )
    dynamic_tables: Flag = Field(
        default=False,
        description="Instead of `table_identifier`: the lower-cased value of `route_field` is the "
        "event's table.",
    )
    route_field: Text | None = Field(
        default=None,
        description="The field that `tables` and `dynamic_tables` look at, as a path like "
        "`meta/table`.",
    )
    operation: FormatText | None = Field(
        default=None,
        description="What each event does to its row, as `${...}`; in any letter case: `index`, "
        "`insert`, `create`, `c`, `i`, `r` insert it; `update`, `u`, `update_after` replace it; "
        "`delete`, `d` delete it; `update_before` deletes the row of an old key. Anything else is "
        "rejected. Without it, every event is an insert.",
    )
    identifier_columns: tuple[Text, ...] = Field(
        default=(),
        description="The columns that tell rows apart. Without them, those of an Iceberg source, "
        "if the table has all of them, else the identifier fields of the table. An event without "
        "a value in one of them is rejected.",
    )
    delete_mode: DeleteMode | None = Field(
        default=None,
        description="How earlier versions of rows leave the table. `equality`: by value, cheapest "
        "to write. `position`: looked up and marked in their files (deletion vectors from format "
        "version 3 on), readable by every engine. `copy-on-write`: their files are written again "
        "without them. Without it, `equality` up to format version 2, `position` from 3 on.",
    )
    deduplicate_inserts: Flag = Field(
        default=False,
        description="Whether an insert replaces a row of the same key. When not, inserts are "
        "trusted to be new, and nothing is looked up for them.",
    )
    branch: Text | None = Field(
        default=None,
        description="The branch to commit to. Made from the table's current state when missing.",
    )
    case_insensitive: Flag = Field(
        default=False,
        description="Whether keys of an event match columns whatever the letter case.",
    )
    auto_create: Flag = Field(
        default=False, description="Whether to create the table when it does not exist."
    )
    schema_evolution: Flag = Field(
        default=False,
        description="Whether to add columns for keys the table does not know. A copy that "
        "`auto_create` made of an Iceberg table then follows all changes of its columns and "
        "partition spec.",
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
        self._check_tables()
        self._check_changes()
        return self

    def _check_tables(self) -> None:
        ways = {"table_identifier": self.table_identifier is not None, "tables": bool(self.tables),
                "dynamic_tables": self.dynamic_tables}
        given = [name for name, there in ways.items() if there]
        if len(given) != 1:
            found = " and ".join(given) + " are given together" if given else "no table is named"
            raise Refused(found, hint="give one of table_identifier, tables, dynamic_tables",
                          at=(given[1],) if given else ())
        if self.dynamic_tables and self.route_field is None:
            raise Refused("dynamic_tables needs route_field",
                          hint="name the field that holds the table", at=("dynamic_tables",))
        if self.route_field and self.table_identifier is not None:
            raise Refused("route_field is given with table_identifier, which does not look at it",
                          hint="use tables or dynamic_tables, or remove route_field",
                          at=("route_field",))
        self._check_list()
        if self.dynamic and (self.table_schema is not None or self.table_location is not None):
            key = "schema" if self.table_schema is not None else "table_location"
            raise Refused(f"{key} is given, but each event names its own table", at=(key,),
                          hint=f"remove {key}, or name one table")

    def _check_list(self) -> None:
        for number, table in enumerate(self.tables):
            if table.route_regex and self.route_field is None:
                raise Refused("route_regex needs route_field", at=("tables", number, "route_regex"),
                              hint="name the field that the pattern is matched with")
            if self.route_field and table.route_regex is None:
                raise Refused(f"no event would go to {table.table_identifier}",
                              hint="give it a route_regex", at=("tables", number))
            if table.table_identifier in self.names[:number]:
                raise Refused(f"table {table.table_identifier} is there twice",
                              hint="join the two patterns: (one|other)",
                              at=("tables", number, "table_identifier"))
        if len(self.tables) > 1 and self.table_location is not None:
            raise Refused("table_location is given, but several tables cannot share one location",
                          hint="remove table_location, or create the tables beforehand",
                          at=("table_location",))

    def _check_changes(self) -> None:
        if self.delete_mode is not None and not self.keyed:
            raise Refused("delete_mode is given, but this sink only appends",
                          hint="set operation, or deduplicate_inserts: true", at=("delete_mode",))

    @property
    def dynamic(self) -> bool:
        """Whether the tables are known only when events arrive."""
        return self.dynamic_tables or not is_static(self.table_identifier or "")

    @property
    def keyed(self) -> bool:
        """Whether rows have to leave the table too."""
        return self.operation is not None or self.deduplicate_inserts

    def for_table(self, table: TableBlock) -> IcebergSink:
        """This sink with one table of its list."""
        return self.model_copy(update={
            "tables": (), "table_identifier": table.table_identifier,
            "identifier_columns": table.identifier_columns or self.identifier_columns,
            "branch": table.branch or self.branch})

    @property
    def names(self) -> tuple[str, ...]:
        """The tables, as far as they are known before events arrive."""
        if self.tables:
            return tuple(table.table_identifier for table in self.tables)
        return () if self.dynamic else (self.table_identifier or "",)

    @property
    def label(self) -> str:
        """The sink's tables in a few words."""
        return ", ".join(self.names) or self.table_identifier or f"${{{self.route_field}}}"

    @property
    def table_key(self) -> str:
        """The key that says which tables."""
        return ("tables" if self.tables else
                "dynamic_tables" if self.dynamic_tables else "table_identifier")
