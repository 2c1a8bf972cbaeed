"""Chunks of events, joined where each costs more than its events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from meltline.kernels.batches import batched
from meltline.model.event import Shape

LARGE_CHUNK = 64 << 20


def joined(
    chunks: Iterable[tuple[Shape, pa.Table]], size: int
) -> Iterator[tuple[Shape, pa.Table]]:
    """The same events in the same order, in chunks of at least `size` bytes where their shape and
    their columns stay the same."""
    for some in batched(chunks, lambda one: one[1].nbytes, size,
                        kind=lambda one: (one[0], one[1].schema)):
        yield some[0][0], pa.concat_tables([chunk for _, chunk in some])
