"""What plans and splits of files hold, and how they are written down small."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from meltline.engine.protocols import Blobs
from meltline.errors import PositionLost
from meltline.model.plan import JsonObject, Split
from meltline.sources.files.listing import FoundFile

MAX_INLINE = 48 << 10
LIST_NAME = "files-plan"


@dataclass(frozen=True)
class Part:
    """A byte range of a planned file, `index` being the file's number in the plan."""

    index: int
    path: str
    size: int
    mtime_ns: int
    start: int
    end: int

    @property
    def is_whole(self) -> bool:
        return self.start == 0 and self.end == self.size


def write_plan(files: Sequence[FoundFile], rewritten: Sequence[int], blobs: Blobs) -> JsonObject:
    """The data of a plan. A long list goes into a blob, and the plan holds where it is.

    `rewritten` are the numbers of files whose path was read before, with another content.
    """
    prefix, names = _without_prefix([file.path for file in files])
    data: dict[str, Any] = {
        "prefix": prefix,
        "files": [[n, f.size, f.mtime_ns] for n, f in zip(names, files, strict=True)],
        "rewritten": list(rewritten),
    }
    text = json.dumps(data, separators=(",", ":")).encode()
    if len(text) <= MAX_INLINE:
        return data
    content = zlib.compress(text)
    return {
        "address": blobs.write(LIST_NAME, content),
        "sha256": sha256(content).hexdigest(),
        "count": len(files),
    }


def read_plan(data: JsonObject, blobs: Blobs) -> list[Part]:
    """The files of a plan, each as one whole part."""
    if "address" in data:
        content = blobs.read(data["address"])
        if sha256(content).hexdigest() != data["sha256"]:
            raise PositionLost(f"the plan's list of files is damaged: {data['address']}")
        data = json.loads(zlib.decompress(content))
    prefix = data["prefix"]
    return [
        Part(index, prefix + name, size, mtime_ns, 0, size)
        for index, (name, size, mtime_ns) in enumerate(data["files"])
    ]


def write_split(parts: Sequence[Part], weight: int) -> Split:
    prefix, names = _without_prefix([part.path for part in parts])
    rows = []
    for name, part in zip(names, parts, strict=True):
        row = [part.index, name, part.size, part.mtime_ns]
        rows.append(row if part.is_whole else [*row, part.start, part.end])
    return Split({"prefix": prefix, "parts": rows}, weight)


def read_split(split: Split) -> list[Part]:
    prefix = split.data["prefix"]
    return [
        Part(index, prefix + name, size, mtime_ns, *(span or (0, size)))
        for index, name, size, mtime_ns, *span in split.data["parts"]
    ]


def _without_prefix(paths: Sequence[str]) -> tuple[str, list[str]]:
    """What all paths begin with, and the rest of each. First and last in order differ soonest."""
    first, last = min(paths), max(paths)
    pairs = zip(first, last, strict=False)
    size = next((at for at, (one, other) in enumerate(pairs) if one != other), len(first))
    return first[:size], [path[size:] for path in paths]
