"""An event that was refused: as it arrived, with the reason and the place it came from."""

from __future__ import annotations

import pyarrow as pa

DEAD_LETTERS = pa.schema([
    ("pipeline", pa.string()),
    ("sink", pa.string()),
    ("epoch", pa.int64()),
    ("ord", pa.int64()),
    ("reason", pa.string()),
    ("event", pa.string()),
    ("source", pa.string()),
    ("failed_at", pa.timestamp("us", tz="UTC")),
])
"""`source` is the event's metadata as JSON; `failed_at` is the time the epoch was planned, so that
a replay writes the same dead letters."""
