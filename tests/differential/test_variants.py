"""Random variants, changed at random: replaying the events gives the table at every snapshot."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.differential.replay import WAYS, check_replay
from tests.warehouse import Warehouse

TABLE = "shop.variants"
KINDS = [("copy-on-write", False), ("copy-on-write", True), ("merge-on-read", True)]
KEYS = ("a", "b", "B", "né", "x y", "quote\"d", "deep", "\U0001f600", "")
SCALARS: Sequence[Callable[[random.Random], Any]] = (
    lambda _: None, lambda r: r.random() < 0.5, lambda r: r.randrange(-130, 130),
    lambda r: r.randrange(-2**63, 2**63), lambda r: r.uniform(-1, 1) * 10 ** r.randrange(-9, 300),
    lambda r: r.randrange(10**6) / 100, lambda r: r.randrange(10**30),
    lambda r: "".join(r.choices("a<\\\"'é\n\U0001f600 0", k=r.randrange(80))),
)
TYPED = (
    "CAST(X'616263' AS VARIANT)", "CAST(DATE'1969-01-02' AS VARIANT)", "NULL",
    "CAST(TIMESTAMP'2024-02-03 04:05:06.120Z' AS VARIANT)", "CAST(1.5F AS VARIANT)",
    "CAST(TIMESTAMP_NTZ'1900-02-03 04:05:06.000001' AS VARIANT)",
    "CAST(CAST('NaN' AS DOUBLE) AS VARIANT)",
    "to_variant_object(map('k', X'00', 'j', X'3C'))",
)


class VariantHistory:
    """Statements that the seed alone decides."""

    def __init__(self, warehouse: Warehouse, mode: str, shredded: bool, seed: int) -> None:
        self._warehouse = warehouse
        self._random = random.Random(seed)
        self._next = 0
        self.statements: list[str] = []
        modes = ", ".join(f"'write.{kind}.mode'='{mode}'" for kind in ("delete", "update", "merge"))
        self._sql("CREATE NAMESPACE IF NOT EXISTS {c}.shop")
        # Spark's fast reader does not know shredded variants
        self._sql(f"CREATE TABLE {{c}}.{TABLE} (id BIGINT, v VARIANT, s STRUCT<n: INT, v: VARIANT>)"
                  f" USING iceberg TBLPROPERTIES ('format-version'='3', {modes}, "
                  f"'read.parquet.vectorization.enabled'='false')")
        self._shred(shredded)

    def step(self) -> None:
        some = self._random.randrange(max(self._next, 1))
        steps: Sequence[Callable[[], None]] = (
            self._insert, self._insert, self._merge,
            lambda: self._sql(f"DELETE FROM {{c}}.{TABLE} WHERE id % 7 = {some % 7}"),
            lambda: self._sql(f"UPDATE {{c}}.{TABLE} SET v = {self._value()} WHERE id = {some}"),
            lambda: self._shred(self._random.random() < 0.5),
            lambda: self._sql(f"INSERT OVERWRITE {{c}}.{TABLE} SELECT * FROM {{c}}.{TABLE}"),
        )
        self._random.choice(steps)()

    def _insert(self) -> None:
        count = self._random.randrange(1, 12)
        rows = ", ".join(self._row(id_) for id_ in range(self._next, self._next + count))
        self._next += count
        self._sql(f"INSERT INTO {{c}}.{TABLE} SELECT /*+ COALESCE(1) */ * FROM VALUES {rows}")

    def _merge(self) -> None:
        ids = self._random.sample(range(self._next + 2), 2)
        rows = ", ".join(self._row(id_) for id_ in ids)
        self._next += 2
        self._sql(f"MERGE INTO {{c}}.{TABLE} t USING (SELECT * FROM VALUES {rows} AS x(id, v, s)) u"
                  " ON t.id = u.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")

    def _row(self, id_: int) -> str:
        inner = f"named_struct('n', {id_}, 'v', {self._value()})"
        return f"({id_}, {self._value()}, {inner})"

    def _value(self) -> str:
        if self._random.random() < 0.3:
            return self._random.choice(TYPED)
        text = json.dumps(self._json(0), ensure_ascii=self._random.random() < 0.5)
        quoted = text.replace("\\", "\\\\").replace("'", "\\'")
        return f"parse_json('{quoted}')"

    def _json(self, depth: int) -> Any:
        kind = self._random.random()
        if depth > 3 or kind < 0.4:
            return self._random.choice(SCALARS)(self._random)
        count = self._random.randrange(4)
        if kind < 0.8:
            return {key: self._json(depth + 1) for key in self._random.sample(KEYS, count)}
        return [self._json(depth + 1) for _ in range(count)]

    def _shred(self, on: bool) -> None:
        self._sql(f"ALTER TABLE {{c}}.{TABLE} SET TBLPROPERTIES "
                  f"('write.parquet.shred-variants'='{str(on).lower()}')")

    def _sql(self, statement: str) -> None:
        self.statements.append(statement)
        self._warehouse.sql(statement)


@pytest.mark.parametrize(("mode", "shredded"), KINDS)
def test_every_snapshot_of_a_random_history(
    warehouse: Warehouse, mode: str, shredded: bool
) -> None:
    history = VariantHistory(warehouse, mode, shredded, seed=KINDS.index((mode, shredded)) + 1)
    for _ in range(12):
        history.step()
    try:
        assert check_replay(warehouse, TABLE, ("id",), WAYS)
    except AssertionError as error:
        raise AssertionError(";\n".join(history.statements)) from error
