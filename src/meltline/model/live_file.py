"""A data file of a snapshot with the deletes that apply to it, as a scan plan tells."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Content = Mapping[str, Any]
"""Iceberg's content-file JSON, parsed."""

PATH_ID = 2147483546
"""Field id of the column `file_path` in a position delete file."""


@dataclass(frozen=True)
class LiveFile:
    """`deletes` are the content files of every delete file that applies, also partition-wide ones.

    `sequence_number` is the data sequence number; None when nobody asked for it.
    """

    content: Content
    deletes: tuple[Content, ...] = ()
    sequence_number: int | None = None

    @property
    def path(self) -> str:
        return str(self.content["file-path"])

    @property
    def format(self) -> str:
        return str(self.content["file-format"]).lower()

    @property
    def records(self) -> int:
        return int(self.content["record-count"])

    @property
    def partition(self) -> str:
        """The same text for files of the same partition, and for no others."""
        return json.dumps([self.content["spec-id"], self.content.get("partition", [])])

    @cached_property
    def deleted_by(self) -> frozenset[tuple[str, int]]:
        """Tells whether the deletes are the same as at another look."""
        return frozenset((delete["file-path"], delete.get("content-offset", 0))
                         for delete in self.deletes)

    @property
    def position_deletes(self) -> tuple[Content, ...]:
        return tuple(one for one in self.deletes if one["content"] == "position-deletes")

    @property
    def equality_deletes(self) -> tuple[Content, ...]:
        return tuple(one for one in self.deletes if one["content"] == "equality-deletes")

    @property
    def own_deletes(self) -> tuple[Content, ...]:
        """Those that say something about this file alone: they go when it goes."""
        return tuple(one for one in self.position_deletes if _only_file(one) == self.path)


def _only_file(delete: Content) -> str | None:
    """The one data file that a delete file is about. Older writers tell it by bounds alone."""
    if "referenced-data-file" in delete:
        return str(delete["referenced-data-file"])
    low, high = (_bound(delete.get(kind)) for kind in ("lower-bounds", "upper-bounds"))
    return bytes.fromhex(low).decode() if low is not None and low == high else None


def _bound(pairs: Mapping[str, Any] | None) -> str | None:
    found = dict(zip(pairs["keys"], pairs["values"], strict=True)) if pairs else {}
    return found.get(PATH_ID)


def is_vector(delete: Content) -> bool:
    return str(delete["file-format"]).lower() == "puffin"
