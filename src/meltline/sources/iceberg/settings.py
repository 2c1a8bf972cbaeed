"""What the source `iceberg` can be told about one table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from meltline.model.history import MAIN
from meltline.sources.iceberg.units import Limits

LostPosition = Literal["stop", "re_export"]


@dataclass(frozen=True)
class TableSettings:
    """- export: load the table before its changes are read
    - ref: the branch or tag to read
    - start_from: a snapshot id, a time in ISO 8601, or `earliest`; None: the newest snapshot
    - protect: the name of a tag that keeps the position from expiring, or None
    - load_bytes: about how much of an initial load one epoch takes
    """

    table: str
    identifier_columns: tuple[str, ...] = ()
    export: bool = True
    ref: str = MAIN
    start_from: str | None = None
    update_before: bool = False
    on_lost: LostPosition = "stop"
    protect: str | None = None
    load_bytes: int = 4 << 30
    limits: Limits = field(default_factory=Limits)
