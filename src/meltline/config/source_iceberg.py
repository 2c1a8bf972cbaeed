"""The `iceberg` source: rows of tables once, then every change, snapshot by snapshot."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from typing_extensions import Self

from meltline.config.catalog import CatalogBlock
from meltline.config.duration import Duration
from meltline.config.identifier import TableIdentifier
from meltline.config.refused import Refused
from meltline.config.scalars import Flag, InWords, Text
from meltline.config.size import ByteSize
from meltline.config.strict import Strict


def check_start(text: str) -> str:
    """The text itself when it says where to start. Raises Refused."""
    if text == "earliest" or text.isdigit():
        return text
    try:
        datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise Refused(
            f'"{text}" says no place to start from',
            hint="write a snapshot id, a time such as 2024-01-31T12:00:00Z, or earliest") from None
    return text


def _as_text(value: object) -> object:
    """YAML reads a snapshot id as a number."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Start = Annotated[str, BeforeValidator(_as_text), AfterValidator(check_start),
                  InWords("snapshot id, time or `earliest`")]


class IcebergTable(Strict):
    """One table, read in a lane of its own: a slow or broken table does not stop the others."""

    table_name: TableIdentifier = Field(description="The table to read.")
    catalog: CatalogBlock | None = Field(
        default=None,
        description="The catalog that holds the table, as Iceberg's own properties. It replaces "
        "the source's `catalog` as a whole.",
    )
    identifier_columns: tuple[Text, ...] = Field(
        default=(),
        description="The columns that tell rows apart. Without them, the table's own identifier "
        "fields; without those, the row ids of a v3 table. A v1 or v2 table with none of these "
        "can only be appended to.",
    )
    disable_export: Flag = Field(
        default=False,
        description="Whether to leave out the initial load: only changes after the newest "
        "snapshot at the first start are read.",
    )
    polling_interval: Duration | None = Field(
        default=None,
        description="How often to look for new snapshots. Without it, the source's "
        "`polling_interval`.",
    )
    branch: Text | None = Field(
        default=None, description="The branch to read. Without it, `main`."
    )
    tag: Text | None = Field(
        default=None,
        description="A tag to read instead of a branch: it is loaded, and read on when it moves.",
    )
    start_from: Start | None = Field(
        default=None,
        description="Where to start: the id of a snapshot, the time at which it was current (UTC "
        "unless it says otherwise), or `earliest`. That snapshot is loaded unless `disable_export` "
        "is set, and changes follow. `earliest` reads changes from the first snapshot on; when "
        "older ones have expired, the oldest one left is loaded first.",
    )
    emit_update_before: Flag = Field(
        default=False,
        description="Whether an update also gives an event with the row as it was, "
        "`UPDATE_BEFORE`, right before the other one.",
    )
    on_lost_position: Literal["stop", "re_export"] = Field(
        default="stop",
        description="What to do when the history after the last snapshot read is gone (expired, "
        "rolled back, table created again): stop with an error that says what is missing, or read "
        "again. If the last snapshot read is still there, only its difference to the new state is "
        "read, removed rows as deletes. Otherwise, where the target is an Iceberg table that is a "
        "copy of this one, its difference to the new state is, and rows that the source does not "
        "have are deleted from it. Elsewhere the table is loaded again, and rows that vanished "
        "meanwhile stay in the target.",
    )
    protect_position: Flag = Field(
        default=False,
        description="Whether to keep a tag on the source table at the last snapshot read, so that "
        "it does not expire. When snapshots after it expire before they are read, what they "
        "changed is read as one change. Needs the right to write to the table.",
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.branch is not None and self.tag is not None:
            raise Refused("branch and tag are given together", hint="keep one of the two",
                          at=("tag",))
        if len(set(self.identifier_columns)) < len(self.identifier_columns):
            raise Refused("a column is named twice", at=("identifier_columns",))
        return self


class IcebergSource(Strict):
    """Reads Iceberg tables: v1, v2 and v3, copy-on-write and merge-on-read."""

    tables: tuple[IcebergTable, ...] = Field(min_length=1, description="The tables to read.")
    catalog: CatalogBlock | None = Field(
        default=None,
        description="The catalog of every table that names none. Without it, an SQLite catalog "
        "and a warehouse under `.meltline/` in the working directory.",
    )
    polling_interval: Duration = Field(
        default=timedelta(seconds=30), description="How often to look for new snapshots."
    )
    load_bytes_per_epoch: Annotated[ByteSize, Field(ge=1)] = Field(
        default=4 * 1024**3,
        description="About how many bytes of files one epoch of an initial load takes. A load "
        "that is interrupted goes on after the last epoch that was published.",
    )
    acknowledgments: Any = Field(
        default=None,
        description="Accepted for compatibility with Data Prepper. Has no effect: a snapshot is "
        "done when every sink has published it.",
    )
    shuffle: Any = Field(
        default=None,
        description="Accepted for compatibility with Data Prepper. Has no effect: rows change "
        "workers through Spark's own shuffle, secured by Spark's own settings.",
    )

    @model_validator(mode="after")
    def _each_table_once(self) -> Self:
        seen: set[str] = set()
        for index, table in enumerate(self.tables):
            if table.table_name in seen:
                raise Refused(f"table {table.table_name} is named twice",
                              hint="each table is a lane, and lanes are told apart by its name",
                              at=("tables", index, "table_name"))
            seen.add(table.table_name)
        return self
