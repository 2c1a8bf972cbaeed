"""Which files are there, on local disk and on object stores. How they are named: patterns.py."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from meltline.errors import RunError, UserError
from meltline.sources.files.listers import Entry, Lister, LocalLister, StoreLister
from meltline.sources.files.patterns import compile_path, has_wildcard
from meltline.sources.files.storage import Storage, is_local, refuse


@dataclass(frozen=True)
class FoundFile:
    """`mtime_ns` is the time of the last change, as far as the store tells it."""

    path: str
    size: int
    mtime_ns: int
    etag: str | None = None


def find_files(
    patterns: Sequence[str],
    storage: Storage,
    *,
    now_ns: int,
    settle_time: timedelta = timedelta(0),
    ignore_suffixes: Sequence[str] = (),
) -> list[FoundFile]:
    """Every settled file that a pattern matches, once. What does not exist matches nothing."""
    settled_ns = now_ns - settle_time // timedelta(microseconds=1) * 1000
    found: dict[str, FoundFile] = {}
    for pattern in patterns:
        if pattern.endswith("/"):
            raise _is_directory(pattern.rstrip("/"))
        for file in _expand(pattern, storage):
            if ignore_suffixes and file.path.endswith(tuple(ignore_suffixes)):
                continue
            # without a settle time a file from the future is taken too: clocks differ
            if settle_time and file.mtime_ns > settled_ns:
                continue
            found[_as_text(file.path)] = file
    return list(found.values())


def _as_text(path: str) -> str:
    """A path can be recorded and stand in a column only if it is UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        shown = repr(os.fsencode(path))[2:-1]
        raise RunError(f"the name of {shown} is not UTF-8", hint="rename the file") from error
    return path


def _expand(pattern: str, storage: Storage) -> Iterator[FoundFile]:
    lister: Lister
    if is_local(pattern):
        _, inner, before = storage.filesystem(pattern)
        lister, inner = LocalLister(), str(Path(inner).absolute())
    else:
        filesystem, inner, before = storage.filesystem(pattern)
        lister = StoreLister(filesystem)
    segments = inner.split("/")
    plain = next((i for i, name in enumerate(segments) if has_wildcard(name)), len(segments) - 1)
    if plain == 0:
        raise UserError(f"{pattern} names no files in a bucket", hint="s3://bucket/prefix/*.json")
    empty = True
    try:
        for entry in _walk(lister, "/".join(segments[:plain]), segments[plain:]):
            yield FoundFile(before + entry.path, entry.size or 0, entry.mtime_ns)
            empty = False
        if empty and not lister.has_root(segments[0]):
            raise RunError(f"there is no bucket for {pattern}", hint="check the name")
    except IsADirectoryError as error:
        raise _is_directory(before + str(error)) from error
    except OSError as error:
        refuse(error, pattern)


def _walk(lister: Lister, directory: str, segments: Sequence[str]) -> Iterator[Entry]:
    """The files below a directory that the rest of a pattern matches."""
    name, rest = segments[0], segments[1:]
    if name == "**":
        # from here on one flat listing is cheaper than one request per directory
        yield from _matching(lister.tree(directory), directory, segments)
    elif has_wildcard(name):
        for entry in _matching(lister.children(directory), directory, [name]):
            if rest and entry.is_directory:
                yield from _walk(lister, entry.path, rest)
            elif not rest and not entry.is_directory:
                yield entry
    elif rest:
        yield from _walk(lister, f"{directory}/{name}", rest)
    else:
        only = lister.look(f"{directory}/{name}")
        if only is not None and only.is_directory:
            raise IsADirectoryError(only.path)
        if only is not None:
            yield only


def _matching(entries: Iterator[Entry], directory: str, segments: Sequence[str]) -> Iterator[Entry]:
    pattern = compile_path(segments)
    below = len(directory) + 1
    return (entry for entry in entries if pattern.fullmatch(entry.path, below))


def _is_directory(path: str) -> UserError:
    return UserError(
        f"{path} is a directory", hint=f"files in it: {path}/* ; also those further down: {path}/**"
    )
