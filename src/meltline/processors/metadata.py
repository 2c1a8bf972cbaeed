"""Changes to the metadata of events."""

from __future__ import annotations

from collections.abc import Sequence

from meltline.expressions import quote_identifier
from meltline.expressions.quoting import quote_list
from meltline.model.event import META, Shape
from meltline.processors.describe import struct_of

TAGS = "tags"


def with_field(shape: Shape, name: str, value: str) -> str:
    """SQL of the metadata with one field set."""
    fields = {key: f"{META}.{quote_identifier(key)}" for key in shape.metadata}
    return struct_of({**fields, name: value})


def with_tags(shape: Shape, tags: Sequence[str], when: str) -> str:
    """SQL of the metadata with tags added to the events that meet a condition (never NULL)."""
    known = f"COALESCE({META}.{TAGS}, [])" if TAGS in shape.metadata else "CAST([] AS VARCHAR[])"
    new = f"list_filter({quote_list(list(tags))}, lambda t: NOT list_contains({known}, t))"
    before = f"{META}.{TAGS}" if TAGS in shape.metadata else "CAST(NULL AS VARCHAR[])"
    value = f"CASE WHEN {when} THEN list_concat({known}, {new}) ELSE {before} END"
    return with_field(shape, TAGS, value)
