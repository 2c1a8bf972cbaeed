"""Which rows are among the keys: a semi-join in DuckDB."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from meltline.kernels.connection import connect

Positions = np.ndarray[Any, np.dtype[np.int64]]


class KeyMatch:
    """Compares lot after lot with the same keys. Null equals null. Close it after use.

    Measured beside Arrow's `is_in`: as fast for one column, and it takes any number of them."""

    def __init__(self, keys: pa.Table) -> None:
        self._connection = connect()
        self._connection.register("keys", keys)
        self._query = _semi_join(keys)
        self._numbers = pa.array([], pa.int32())

    def __enter__(self) -> KeyMatch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def rows(self, rows: pa.Table) -> Positions:
        """The row numbers, ascending. The columns are those of the keys."""
        if len(self._numbers) < rows.num_rows:
            self._numbers = pa.array(np.arange(rows.num_rows, dtype=np.int32))
        numbered = rows.append_column("r", self._numbers.slice(0, rows.num_rows))
        self._connection.register("candidates", numbered)
        found = self._connection.sql(self._query).to_arrow_table()
        self._connection.unregister("candidates")
        return np.sort(found.column("r").to_numpy().astype(np.int64))


def _semi_join(keys: pa.Table) -> str:
    # a plain comparison takes a third of the time
    same = " AND ".join(
        f"c.{name} {'IS NOT DISTINCT FROM' if keys.column(name).null_count else '='} k.{name}"
        for name in keys.column_names)
    return f"SELECT r FROM candidates c SEMI JOIN keys k ON {same}"
