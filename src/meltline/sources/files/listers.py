"""Looking into directories: local ones and those an object store shows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pyarrow import fs

from meltline.sources.files.patterns import HIDDEN


@dataclass(frozen=True)
class Entry:
    """`path` is as the file system has it; a directory has no size."""

    path: str
    size: int | None
    mtime_ns: int

    @property
    def is_directory(self) -> bool:
        return self.size is None


class Lister(Protocol):
    """A directory that does not exist is empty. OSError when it may not be looked at."""

    def has_root(self, name: str) -> bool:
        """Whether what all paths begin with is there: a bucket nobody makes while we wait."""

    def look(self, path: str) -> Entry | None:
        """What is there, if anything."""

    def children(self, directory: str) -> Iterator[Entry]:
        """What is directly inside."""

    def tree(self, directory: str) -> Iterator[Entry]:
        """Files only: all further down, at least those not below a hidden directory."""


class LocalLister:
    """Local disk, which is always there. Below `**` no directory is entered through a link."""

    def has_root(self, name: str) -> bool:  # noqa: ARG002
        return True

    def look(self, path: str) -> Entry | None:
        try:
            found = Path(path).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Entry(path, None if Path(path).is_dir() else found.st_size, found.st_mtime_ns)

    def children(self, directory: str, *, links: bool = True) -> Iterator[Entry]:
        try:
            with os.scandir(directory or "/") as entries:
                for entry in entries:
                    path = f"{directory}/{entry.name}"
                    try:
                        if entry.is_dir(follow_symlinks=links):
                            yield Entry(path, None, 0)
                        elif entry.is_file():
                            found = entry.stat()
                            yield Entry(path, found.st_size, found.st_mtime_ns)
                    except FileNotFoundError:
                        continue  # gone since the directory was read
        except (FileNotFoundError, NotADirectoryError):
            return

    def tree(self, directory: str) -> Iterator[Entry]:
        waiting = [directory]
        while waiting:
            for entry in self.children(waiting.pop(), links=False):
                if entry.size is not None:
                    yield entry
                elif not entry.path.rpartition("/")[2].startswith(HIDDEN):
                    waiting.append(entry.path)


class StoreLister:
    """An object store, or whatever else Arrow has a file system for."""

    def __init__(self, filesystem: fs.FileSystem) -> None:
        self._filesystem = filesystem

    def has_root(self, name: str) -> bool:
        try:
            return not name or self._filesystem.get_file_info(name).type != fs.FileType.NotFound
        except OSError:
            return True  # who may list a prefix need not be allowed to look at the bucket

    def look(self, path: str) -> Entry | None:
        info = self._filesystem.get_file_info(path)
        return None if info.type == fs.FileType.NotFound else _entry(info)

    def children(self, directory: str) -> Iterator[Entry]:
        return self._list(directory, recursive=False)

    def tree(self, directory: str) -> Iterator[Entry]:
        return (e for e in self._list(directory, recursive=True) if not e.is_directory)

    def _list(self, directory: str, *, recursive: bool) -> Iterator[Entry]:
        selector = fs.FileSelector(directory, recursive=recursive, allow_not_found=True)
        try:
            found = self._filesystem.get_file_info(selector)
        except NotADirectoryError:
            found = []
        return (_entry(info) for info in found)


def _entry(info: fs.FileInfo) -> Entry:
    is_file = info.type == fs.FileType.File
    return Entry(info.path, info.size if is_file else None, info.mtime_ns or 0)
