"""The stream that a Parquet file is written to: at its end columns of variants get their mark.

A file without variants is written as ever.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from meltline.kernels.parquet_footer import mark_variants


class VariantStream:
    """`sink` is what Parquet's writer writes to. Inside of `marked` it must end the file."""

    def __init__(self, stream: Any, ids: Collection[int]) -> None:
        self._stream = stream
        self._ids = ids
        self._held: _Held | None = _Held(stream) if ids else None
        self.sink: Any = self._held or stream

    def tell(self) -> int:
        return int(self._stream.tell())

    def close(self) -> None:
        self._stream.close()

    @contextmanager
    def marked(self) -> Iterator[None]:
        if self._held is None:
            yield
            return
        self._held.end = bytearray()
        yield
        self._stream.write(mark_variants(bytes(self._held.end), self._ids))


class _Held:
    """Passes everything on, but for the end of the file, which is held back. A file object."""

    closed = False

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.end: bytearray | None = None

    def write(self, data: Any) -> int:
        if self.end is None:
            return int(self._stream.write(data))
        self.end += memoryview(data)
        return len(data)

    def tell(self) -> int:
        return int(self._stream.tell()) + len(self.end or b"")

    def flush(self) -> None:
        if self.end is None:
            self._stream.flush()

    def close(self) -> None:
        """Whoever made the stream closes it."""
