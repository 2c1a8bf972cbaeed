"""Which deletes apply to a data file: the rules of the table spec, and nothing else. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Any

from meltline.model.content import DataFile, DeleteFile

MayMatch = Callable[[DataFile, DeleteFile], bool]


def always(_: DataFile, __: DeleteFile) -> bool:
    """No statistics are looked at."""
    return True


class DeleteIndex:
    """Deletes of one snapshot. `unpartitioned` are the spec ids of global equality deletes.

    `may_match` leaves out equality deletes that cannot hit a file by its statistics.
    """

    def __init__(
        self, deletes: Iterable[DeleteFile], unpartitioned: Collection[int] = (),
        may_match: MayMatch = always,
    ) -> None:
        self._may_match = may_match
        self._vectors: dict[str, DeleteFile] = {}
        self._by_path: dict[str, list[DeleteFile]] = defaultdict(list)
        self._by_group: dict[Any, list[DeleteFile]] = defaultdict(list)
        self._equality: dict[Any, list[DeleteFile]] = defaultdict(list)
        self._everywhere: list[DeleteFile] = []
        for delete in sorted(deletes, key=lambda one: (one.sequence, *one.key)):
            self._place(delete, delete.spec_id in unpartitioned)

    def _place(self, delete: DeleteFile, everywhere: bool) -> None:
        if delete.kind == "vector":
            self._vectors[delete.referenced or ""] = delete
        elif delete.kind == "equality":
            (self._everywhere if everywhere else self._equality[delete.group]).append(delete)
        elif delete.referenced is not None:
            self._by_path[delete.referenced].append(delete)
        else:
            self._by_group[delete.group].append(delete)

    def of(self, file: DataFile) -> tuple[DeleteFile, ...]:
        """In a fixed order, so that two answers can be compared."""
        found = self._positions(file)
        for delete in (*self._everywhere, *self._equality.get(file.group, ())):
            # an equality delete never reaches rows of its own commit
            if file.sequence < delete.sequence and self._may_match(file, delete):
                found.append(delete)
        return tuple(delete.bare() for delete in found)

    def _positions(self, file: DataFile) -> list[DeleteFile]:
        vector = self._vectors.get(file.path)
        if vector is not None and file.sequence <= vector.sequence:
            # a vector holds what position delete files said about its file before
            return [vector]
        named = self._by_path.get(file.path, ())
        around = self._by_group.get(file.group, ())
        return [delete for delete in (*named, *around) if file.sequence <= delete.sequence]
