"""Where a pipeline remembers how far it came."""

from __future__ import annotations

from pydantic import Field

from meltline.config.one_kind import OneKind
from meltline.config.scalars import Text
from meltline.config.strict import Strict


class IcebergLedger(Strict):
    """A control table in the catalog of the pipeline's first sink."""

    namespace: Text = Field(
        default="meltline", description="The namespace of the control tables. Created when missing."
    )


class SqliteLedger(Strict):
    """An SQLite file on the machine of the driver."""

    path: Text = Field(description="The file. It must outlive the driver.")


class LedgerBlock(OneKind):
    """Exactly one kind of ledger."""

    iceberg: IcebergLedger | None = Field(
        default=None, description="A control table in the sink's own catalog."
    )
    sqlite: SqliteLedger | None = Field(default=None, description="An SQLite file.")
