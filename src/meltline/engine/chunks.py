"""Chunks of events, joined where each costs more than its events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from meltline.model.event import Shape

LARGE_CHUNK = 64 << 20


def joined(
    chunks: Iterable[tuple[Shape, pa.Table]], size: int
) -> Iterator[tuple[Shape, pa.Table]]:
    """The same events in the same order, in chunks of at least `size` bytes where their shape and
    their columns stay the same."""
    held: list[pa.Table] = []
    last: Shape | None = None
    for shape, chunk in chunks:
        if last is not None and held and (shape != last or chunk.schema != held[0].schema):
            yield last, pa.concat_tables(held)
            held = []
        last = shape
        held.append(chunk)
        if sum(table.nbytes for table in held) >= size:
            yield last, pa.concat_tables(held)
            held = []
    if last is not None and held:
        yield last, pa.concat_tables(held)
