"""The source `files`: every file under some patterns, each exactly once."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np

from meltline.codecs.compression import compression_of
from meltline.engine.protocols import Blobs
from meltline.model.plan import Plan, Position, Split
from meltline.sources.files.cutting import cut_parts, weigh
from meltline.sources.files.digests import digest, join
from meltline.sources.files.listing import FoundFile, find_files
from meltline.sources.files.parts import Part, read_plan, write_plan, write_split
from meltline.sources.files.position import (
    Seen,
    SegmentStore,
    add,
    find_rewritten,
    find_unread,
)
from meltline.sources.files.reader import FilesReader
from meltline.sources.files.settings import FilesSettings
from meltline.sources.files.storage import Storage

log = logging.getLogger(__name__)

MAX_NAMES = 50
"""Plans of at most so many files name them all in their summary."""


class FilesSource:
    """Implements Source. Files are taken in the order of their last change, then of their path.

    A file whose size or time changed after it was read is a new file, and read again as a whole;
    the plan's data says so (`rewritten`), and so does the log.

    `with_line` numbers the line of every event, at the price of counting lines; it is wanted when
    an expression uses the metadata `line`. `clock` gives nanoseconds since 1970.
    """

    def __init__(
        self,
        settings: FilesSettings,
        *,
        with_line: bool = False,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._settings = settings
        self._with_line = with_line
        self._clock = clock
        self._storage = Storage(settings.storage)
        self._segments = SegmentStore()

    def plan(self, after: Position | None, blobs: Blobs) -> Plan | None:
        seen = Seen.from_position(after)
        unread = self._unread(seen, blobs)
        if not unread:
            return None
        taken = self._take(unread)
        digests = [digest(file.path, file.size, file.mtime_ns) for file in taken]
        known = find_rewritten(join(digests), seen, self._segments, blobs)
        rewritten = np.flatnonzero(known).tolist()
        if rewritten:
            log.warning(
                "files were rewritten and are read again",
                extra={"files": len(rewritten), "first": taken[rewritten[0]].path},
            )
        return Plan(
            data=write_plan(taken, rewritten, blobs),
            end=add(seen, digests, self._segments, blobs).to_position(),
            waiting=len(unread) - len(taken),
            summary=summarize(taken),
        )

    def splits(self, plan: Plan, parallelism: int, blobs: Blobs) -> Sequence[Split]:
        groups = cut_parts(
            read_plan(plan.data, blobs),
            parallelism=parallelism,
            split_size=self._settings.split_size,
            can_cut=self._can_cut,
        )
        return [write_split(group, sum(weigh(part) for part in group)) for group in groups]

    def reader(self) -> FilesReader:
        return FilesReader(self._settings, with_line=self._with_line)

    def forget(self, upto: Position) -> None:
        """Nothing to let go but cached segments: files belong to those who wrote them."""
        self._segments.keep_only(Seen.from_position(upto).segments)

    def lag(self, after: Position | None, blobs: Blobs) -> int | None:
        """The number of files that wait, settled ones only. Lists everything."""
        return len(self._unread(Seen.from_position(after), blobs))

    def _unread(self, seen: Seen, blobs: Blobs) -> list[FoundFile]:
        found = find_files(
            self._settings.paths,
            self._storage,
            now_ns=self._clock(),
            settle_time=self._settings.settle_time,
            ignore_suffixes=self._settings.ignore_suffixes,
        )
        wanted = join(digest(file.path, file.size, file.mtime_ns) for file in found)
        unread = find_unread(wanted, seen, self._segments, blobs)
        return [found[index] for index in np.flatnonzero(unread).tolist()]

    def _take(self, unread: list[FoundFile]) -> list[FoundFile]:
        """The oldest files up to the limits of an epoch, at least one."""
        unread.sort(key=lambda file: (file.mtime_ns, file.path))
        taken: list[FoundFile] = []
        room = self._settings.max_bytes_per_epoch
        for file in islice(unread, self._settings.max_files_per_epoch):
            if taken and file.size > room:
                break
            taken.append(file)
            room -= file.size
        return taken

    def _can_cut(self, part: Part) -> bool:
        """Lines can be found from anywhere, and row groups too, but not inside of compression."""
        if self._settings.codec == "parquet":
            return True
        compressed = compression_of(part.path, self._settings.compression) != "none"
        return self._settings.codec == "ndjson" and not compressed


def summarize(files: Sequence[FoundFile]) -> dict[str, str]:
    summary = {
        "files": str(len(files)),
        "bytes": str(sum(file.size for file in files)),
        "first": files[0].path,
        "last": files[-1].path,
    }
    if len(files) <= MAX_NAMES:
        summary["names"] = json.dumps([file.path for file in files])
    return summary
