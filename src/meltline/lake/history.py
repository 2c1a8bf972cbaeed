"""A table's whole metadata, handed over by the JVM as one text."""

from __future__ import annotations

from meltline.lake.jvm import java_errors
from meltline.lake.table import Table
from meltline.model.history import TableHistory


class HistoryReader:
    """Refreshes a table and hands over its metadata; unchanged metadata is handed over again."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._location = ""
        self._known: TableHistory | None = None

    def read(self) -> TableHistory:
        self._table.refresh()
        with java_errors(f"cannot read the metadata of table {self._table.identifier}"):
            metadata = self._table.java.operations().current()
            location = str(metadata.metadataFileLocation() or "")
            if self._known is None or not location or location != self._location:
                parser = self._table.jvm.iceberg.TableMetadataParser
                self._known = TableHistory(str(parser.toJson(metadata)))
                self._location = location
        return self._known

    @property
    def io_properties(self) -> dict[str, str]:
        return self._table.io_properties
