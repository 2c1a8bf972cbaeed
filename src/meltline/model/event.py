"""The shape of events on their way through a worker.

Events travel as an Arrow table (in DuckDB: a view named `events`) with these columns:

- JSON shape:  `body` VARCHAR, the event as the text of one JSON object
- typed shape: `row` STRUCT, one field per top-level column of the event
- both:        `meta` STRUCT, the event's metadata, one field per known key
               `ord` BIGINT, the event's place within its epoch, unique and stable: the number
                     of a file or a task, and behind it (PLACE_BITS) the place therein
               `bad` VARCHAR, NULL for a good event; otherwise why it could not be decoded
                     (`body` then holds the original text, `row` is NULL)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

BODY = "body"
ROW = "row"
META = "meta"
ORD = "ord"
BAD = "bad"
PLACE_BITS = 40


@dataclass(frozen=True)
class Shape:
    """What is known of the events before any is read.

    `fields` (typed shape only) and `metadata` map a name to its DuckDB type, in order.
    """

    kind: Literal["json", "typed"]
    metadata: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> str:
        """The column that holds the event itself."""
        return BODY if self.kind == "json" else ROW


def json_shape(**metadata: str) -> Shape:
    return Shape("json", MappingProxyType(dict(metadata)))
