"""Lines of the file sink go from Arrow's memory to the file as they are."""

from __future__ import annotations

import pyarrow as pa
import pytest

from meltline.sinks.file.sink import text_bytes

LINES = ["a\n", "\n", "größer\n", "d" * 300 + "\n"]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_texts_are_written_as_they_lie_in_memory(kind: pa.DataType) -> None:
    lines = pa.array(LINES, kind)
    for start in range(5):
        for length in range(5 - start):
            found = bytes(text_bytes(lines.slice(start, length)))
            assert found == "".join(LINES[start:start + length]).encode()
