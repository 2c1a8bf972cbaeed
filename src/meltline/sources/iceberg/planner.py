"""What a snapshot changed, from metadata alone: added, removed and touched data files. Pure.

The table before and after is compared as it is, not by what the snapshot says it did: the same
logic serves appends, overwrites, row deltas, dropped partitions, cherry-picks and rollbacks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from meltline.model.content import DataFile, DeleteFile, FileChange
from meltline.sources.iceberg.delete_index import DeleteIndex, MayMatch, always
from meltline.sources.iceberg.manifests import Entry, Manifest, Written

ReadLive = Callable[[Manifest], Sequence[Entry]]


@dataclass(frozen=True)
class Difference:
    """Two states of a table. `kept` are the data files of both, and `deletes_*` all deletes.

    `kept` may be empty when no delete differs: nobody asks for it then.
    """

    added: tuple[DataFile, ...] = ()
    removed: tuple[DataFile, ...] = ()
    kept: tuple[DataFile, ...] = ()
    deletes_before: tuple[DeleteFile, ...] = ()
    deletes_after: tuple[DeleteFile, ...] = ()
    unpartitioned: Collection[int] = field(default_factory=frozenset)


def compare(
    before: Sequence[Manifest], after: Sequence[Manifest], live: ReadLive,
    unpartitioned: Collection[int] = (),
) -> Difference:
    """Manifests that both states have are read only when a delete asks for what is in them."""
    old, new = {m.path for m in before}, {m.path for m in after}
    data_before = _by_path(before, live, skip=new)
    data_after = _by_path(after, live, skip=old)
    deletes_before = tuple(_deletes(before, live))
    deletes_after = tuple(_deletes(after, live))
    kept: list[DataFile] = []
    if {d.key for d in deletes_before} != {d.key for d in deletes_after}:
        shared = [m for m in after if m.path in old and not m.deletes]
        kept = [file for m in shared for file in live(m) if isinstance(file, DataFile)]
        kept += [file for path, file in data_after.items() if path in data_before]
    return Difference(
        tuple(file for path, file in data_after.items() if path not in data_before),
        tuple(file for path, file in data_before.items() if path not in data_after),
        tuple(kept), deletes_before, deletes_after, frozenset(unpartitioned))


def _by_path(
    manifests: Iterable[Manifest], live: ReadLive, skip: Collection[str]
) -> dict[str, DataFile]:
    return {file.path: file for m in manifests if not m.deletes and m.path not in skip
            for file in live(m) if isinstance(file, DataFile)}


def _deletes(manifests: Iterable[Manifest], live: ReadLive) -> Iterable[DeleteFile]:
    return (file for m in manifests if m.deletes for file in live(m)
            if isinstance(file, DeleteFile))


def changes(difference: Difference, may_match: MayMatch = always) -> list[FileChange]:
    """Every data file in which a row may have appeared or gone, in a fixed order."""
    specs = difference.unpartitioned
    before = DeleteIndex(difference.deletes_before, specs, may_match)
    after = DeleteIndex(difference.deletes_after, specs, may_match)
    found = [FileChange(file, before.of(file), None) for file in difference.removed]
    found += [FileChange(file, None, after.of(file)) for file in difference.added]
    differing = _differing(difference)
    if differing:
        # only these can touch a file: most files are dismissed by one look
        touching = DeleteIndex(differing, specs, may_match)
        for file in difference.kept:
            if touching.of(file):
                old, new = before.of(file), after.of(file)
                if old != new:
                    found.append(FileChange(file, old, new))
    return found


def _differing(difference: Difference) -> list[DeleteFile]:
    old = {delete.key: delete for delete in difference.deletes_before}
    new = {delete.key: delete for delete in difference.deletes_after}
    return [*(d for key, d in old.items() if key not in new),
            *(d for key, d in new.items() if key not in old)]


def contents(
    manifests: Sequence[Manifest], live: ReadLive, unpartitioned: Collection[int] = (),
    may_match: MayMatch = always,
) -> list[FileChange]:
    """The whole table as files that were added, with their deletes: what an initial load reads."""
    index = DeleteIndex(_deletes(manifests, live), unpartitioned, may_match)
    files = _by_path(manifests, live, skip=())
    return [FileChange(file.bare(), None, index.of(file)) for file in files.values()]


def appended(written: Iterable[Written]) -> list[FileChange] | None:
    """What a snapshot added, from its own entries alone; None when it did anything else.

    Its base may be gone: what it removed might be gone too, what it added is all there. Deletes of
    earlier snapshots never reach the files of a later one.
    """
    found: list[FileChange] = []
    for part in written:
        if part.other or not all(isinstance(file, DataFile) for file in part.added):
            return None
        found += [FileChange(file.bare(), None, ()) for file in part.added
                  if isinstance(file, DataFile)]
    return found
