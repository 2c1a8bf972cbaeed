"""The names that the objects of a variant have: its metadata, as a list and back.

DuckDB takes the names of shredded columns for names of SQL: it has no empty ones, and renames one
of two that differ in case alone. Such columns get another name on their way through DuckDB, which
is taken back in the metadata that comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import pyarrow as pa
import pyarrow.compute as pc

_APART = "\0apart"
"""Behind a name. It begins with the least character: names without it stay in order."""


def names_of(metadata: bytes) -> list[str]:
    width = (metadata[0] >> 6) + 1
    size = int.from_bytes(metadata[1:1 + width], "little")
    first = 1 + width * (size + 2)
    starts = [first + int.from_bytes(metadata[at:at + width], "little")
              for at in range(1 + width, first, width)]
    return [metadata[start:end].decode() for start, end in pairwise(starts)]


def unused_suffix(array: pa.Array) -> str:
    """One that no name in these shredded variants holds."""
    metadata = pc.struct_field(array, ["metadata"])
    suffix, columns = _APART, str(array.type)
    while suffix in columns or pc.any(pc.match_substring(metadata, suffix.encode())).as_py():
        suffix += "."
    return suffix


def told_apart(names: Sequence[str], suffix: str) -> list[str]:
    """Names that DuckDB takes as they are, with the suffix where need be."""
    met = {""}
    made = []
    for name in names:
        made.append(name + suffix if name.casefold() in met else name)
        met.add(name.casefold())
    return made


def restored(metadata: pa.Array, suffix: str) -> pa.Array:
    """The metadata with the suffix taken off. Few of them differ."""
    if not pc.any(pc.match_substring(metadata, suffix.encode())).as_py():
        return metadata
    distinct = metadata.dictionary_encode()
    made = [None if one is None else _without(one, suffix)
            for one in distinct.dictionary.to_pylist()]
    return pa.array(made, metadata.type).take(distinct.indices)


def _without(metadata: bytes, suffix: str) -> bytes:
    width = (metadata[0] >> 6) + 1
    texts = [name.removesuffix(suffix).encode() for name in names_of(metadata)]
    numbers = [len(texts), *accumulate(map(len, texts), initial=0)]
    return b"".join([metadata[:1], *(one.to_bytes(width, "little") for one in numbers), *texts])
