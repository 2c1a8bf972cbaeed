"""The Iceberg sink whose events name their tables: the driver's side."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from meltline.config.sink_iceberg import IcebergSink as IcebergBlock
from meltline.engine.epoch import Epoch
from meltline.engine.protocols import MapItems
from meltline.engine.sink import Published
from meltline.engine.token import Token
from meltline.lake.catalog import Catalog
from meltline.model.file_closed import FileClosed
from meltline.model.table_like import Like, like_nothing
from meltline.sinks.iceberg.fields import KeyFilter
from meltline.sinks.iceberg.many_writer import UNKNOWN, ManyWriter
from meltline.sinks.iceberg.one_table import OneTable

COMMITS_AT_ONCE = 8
_MISSING = "table {} does not exist"
_RESERVED = "table {} belongs to another sink, or to the dead letters, of this pipeline"


class ManyTables:
    """See engine.sink.Sink. A table becomes known when the first event names it.

    `reserved` are the tables that this pipeline writes to by other ways: a second batch of the
    same epoch would be taken for the first and skipped.
    """

    def __init__(
        self, catalog: Catalog, block: IcebergBlock, map_items: MapItems,
        reserved: Collection[str] = (), like: Like = like_nothing,
    ) -> None:
        self._like = like
        self._catalog = catalog
        self._map_items = map_items
        self._block = block
        self._reserved = frozenset(reserved)
        self._tables: dict[str, OneTable] = {}
        self._missing: set[str] = set()
        self._asked_in = 0
        self.name = block.label

    def check(self) -> None:
        """Nothing can be known of tables that no event has named yet."""

    def token(self, pipeline: str, lane: str) -> Token | None:
        """The newest of the tables that are there already under the fixed part of the name."""
        tokens = []
        for name in self._existing():
            table = self._one(name)
            if (token := table.token(pipeline, lane)) is not None:
                self._tables[name] = table
                tokens.append(token)
        return max(tokens, key=lambda token: token.epoch, default=None)

    def find(self, epoch: Epoch) -> Published | None:  # noqa: ARG002
        """Unknown before the events are read; `publish` skips the tables that have it."""
        return None

    def writer(self, epoch: Epoch) -> ManyWriter:
        if epoch.number != self._asked_in:
            # somebody may have created them since
            self._missing = {name for name in self._missing if not self._found(name)}
            self._asked_in = epoch.number
        refused = {name: _RESERVED.format(name) for name in self._reserved}
        refused |= {name: _MISSING.format(name) for name in self._missing}
        field = self._block.route_field or ""
        dynamic = self._block.dynamic_tables
        return ManyWriter(
            f"${{/{field.strip('/')}}}" if dynamic else self._block.table_identifier or "", dynamic,
            {name: table.writer(epoch, fresh=False) for name, table in self._tables.items()},
            refused, self._block.keyed, self._block.auto_create,
            KeyFilter(self._block.include_keys, self._block.exclude_keys,
                      self._block.case_insensitive))

    def settle(self, guess: Any) -> bool:
        for name, fields in guess["struct"].items():
            if name in self._tables:
                self._tables[name].settle(fields)
            elif not self._found(name):
                if self._block.auto_create and fields != UNKNOWN:
                    self._tables[name] = self._one(name)
                    self._tables[name].settle(fields)
                else:
                    self._missing.add(name)
        return True

    def publish(self, epoch: Epoch, reports: Sequence[str], owner: str) -> Sequence[Published]:
        """Tables are committed side by side. When one fails, the others are still done; the next
        try skips them."""
        waiting: dict[str, list[str]] = {}
        for report in reports:
            waiting.setdefault(FileClosed.from_json(report).table, []).append(report)
        with ThreadPoolExecutor(max_workers=min(COMMITS_AT_ONCE, max(len(waiting), 1))) as pool:
            commits = [pool.submit(self._tables[name].publish, epoch, files, owner)
                       for name, files in sorted(waiting.items())]
        return [commit.result() for commit in commits]

    def _one(self, name: str) -> OneTable:
        return OneTable(self._catalog, name, self._block, self._map_items, self._like)

    def _found(self, name: str) -> bool:
        table = self._one(name)
        table.check()
        if table.load() is None:
            return False
        self._tables[name] = table
        return True

    def _existing(self) -> Iterable[str]:
        beginning = (self._block.table_identifier or "").partition("${")[0]
        namespace = beginning.rpartition(".")[0]
        if not namespace:
            return []
        return [name for name in self._catalog.tables(namespace) if name.startswith(beginning)
                and name not in self._reserved]
