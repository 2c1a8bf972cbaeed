"""The Iceberg sink of one table that is known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from meltline.config.sink_iceberg import IcebergSink as IcebergBlock
from meltline.engine.epoch import Epoch
from meltline.engine.protocols import MapItems
from meltline.engine.sink import Published
from meltline.engine.token import Token
from meltline.errors import UserError
from meltline.lake.catalog import Catalog
from meltline.model.table_like import Like, like_nothing
from meltline.sinks.iceberg.one_table import OneTable
from meltline.sinks.iceberg.writer import IcebergWriter


class IcebergSink:
    """See engine.sink.Sink."""

    def __init__(
        self, catalog: Catalog, identifier: str, block: IcebergBlock, map_items: MapItems,
        like: Like = like_nothing,
    ) -> None:
        self._table = OneTable(catalog, identifier, block, map_items, like)
        self._auto_create = block.auto_create
        self.name = identifier

    def check(self) -> None:
        self._table.check()
        if self._table.load() is None and not self._auto_create:
            raise UserError(
                f"table {self.name} does not exist in the catalog",
                hint="create the table, or set auto_create: true in the sink")

    def token(self, pipeline: str, lane: str) -> Token | None:
        return self._table.token(pipeline, lane)

    def find(self, epoch: Epoch) -> Published | None:
        return self._table.find(epoch)

    def writer(self, epoch: Epoch) -> IcebergWriter:
        return self._table.writer(epoch)

    def settle(self, guess: Any) -> bool:
        return self._table.settle(guess)

    def publish(self, epoch: Epoch, reports: Sequence[str], owner: str) -> Sequence[Published]:
        return [self._table.publish(epoch, reports, owner)]
