"""Opening planned files: only as they were planned, and ahead of time where opening is slow."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal

import pyarrow as pa

from meltline.codecs.records import Stream
from meltline.errors import RunError
from meltline.sources.files.parts import Part
from meltline.sources.files.storage import Storage, is_local, refuse

log = logging.getLogger(__name__)

AHEAD = 8
SMALL_FILE = 4 << 20
SECOND = 1_000_000_000


class Opener:
    """Opens the parts of a split in order. `skipped` counts files that were left out."""

    def __init__(self, storage: Storage, missing_files: Literal["stop", "skip"]) -> None:
        self._storage = storage
        self._missing_files = missing_files
        self.skipped = 0

    def open_all(self, parts: Sequence[Part]) -> Iterator[tuple[Part, pa.NativeFile]]:
        """Every part with its file; those that are not as planned are refused or left out."""
        if len(parts) < 2 or is_local(parts[0].path):
            for part in parts:
                yield from self._checked(part, *self._open(part))
            return
        with ThreadPoolExecutor(AHEAD) as pool:
            waiting: deque[tuple[Part, Future[tuple[str | None, pa.NativeFile]]]] = deque()
            for part in parts:
                waiting.append((part, pool.submit(self._open, part)))
                if len(waiting) > AHEAD:
                    first, opened = waiting.popleft()
                    yield from self._checked(first, *opened.result())
            for last, opened in waiting:
                yield from self._checked(last, *opened.result())

    def open_one(self, part: Part) -> pa.NativeFile:
        """The file of a part, whatever is configured for missing ones."""
        problem, file = self._open(part)
        if problem:
            raise not_as_planned(part.path, problem)
        return file

    def _open(self, part: Part) -> tuple[str | None, pa.NativeFile]:
        """What is wrong with a file, or the file. A small remote one is read at once."""
        problem = self._compare(part)
        if problem:
            return problem, None
        try:
            file = self._storage.open(part.path)
            if not is_local(part.path) and part.is_whole and part.size <= SMALL_FILE:
                return None, pa.BufferReader(file.read_buffer())
        except FileNotFoundError:
            return "is gone", None
        except OSError as error:
            refuse(error, part.path)
        return None, file

    def _compare(self, part: Part) -> str | None:
        found = self._storage.stat(part.path)
        if found is None:
            return "is gone"
        size, mtime_ns = found
        if size != part.size:
            return f"has changed: {part.size} bytes when it was planned, now {size}"
        # stores show fractions of a second in a listing that they leave out for a single object
        tolerance = 0 if is_local(part.path) else SECOND - 1
        if abs(mtime_ns - part.mtime_ns) > tolerance:
            return "has changed since it was planned: it was written again"
        return None

    def _checked(
        self, part: Part, problem: str | None, file: pa.NativeFile
    ) -> Iterator[tuple[Part, pa.NativeFile]]:
        if problem is None:
            with file:
                yield part, file
        elif self._missing_files == "skip":
            self.skipped += 1
            log.warning("file skipped", extra={"file": part.path, "reason": problem})
        else:
            raise not_as_planned(part.path, problem)


def not_as_planned(path: str, problem: str) -> RunError:
    return RunError(
        f"{path} {problem}",
        hint="put it back as it was, or set missing_files: skip to go on without it"
        " (a changed file is then read as a new one)",
    )


class PlannedBytes(Stream):
    """The bytes of a file from a position on, exactly as many as were planned."""

    def __init__(self, file: pa.NativeFile, part: Part, position: int = 0) -> None:
        self._file = file
        self._part = part
        self._left = part.size - position
        file.seek(position)

    def readinto(self, buffer: Any, /) -> int:
        with memoryview(buffer) as whole, whole[: self._left] as room:
            if not len(room):
                return 0
            got: int = self._file.readinto(room)
        if not got:
            raise not_as_planned(self._part.path, "became shorter while it was read")
        self._left -= got
        return got
