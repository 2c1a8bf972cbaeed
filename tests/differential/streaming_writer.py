"""Data files and equality deletes by Iceberg's Java writers, as streaming engines write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.differential.replay import Row
from tests.warehouse import Warehouse


@dataclass(frozen=True)
class Deletes:
    """Rows to remove, by the values of `columns`. `spec` is the partition spec they are written
    under: each reaches its row's partition of that spec, or the whole table if it has none."""

    columns: tuple[str, ...]
    rows: Sequence[Row]
    spec: int


class StreamingWriter:
    """Files with the statistics that Iceberg's writers keep, so that these can mislead, too.

    Values of the type long must be beyond 32 bits: Py4J gives others to Java as an int.
    """

    def __init__(self, warehouse: Warehouse, identifier: str) -> None:
        self._gateway: Any = warehouse.spark.sparkContext._gateway
        self._table = warehouse.table(identifier)
        self._java = self._table.java
        self._iceberg = self._table.jvm.iceberg

    def commit(self, deletes: Iterable[Deletes] = (), rows: Sequence[Row] = ()) -> None:
        """One row delta. Rows go by the table's newest spec."""
        self._table.refresh()
        delta = self._java.newRowDelta()
        for one in deletes:
            for file in self._write_deletes(one):
                delta = delta.addDeletes(file)
        spec = self._java.spec()
        for partition, some in self._by_partition(rows, spec):
            writer = self._factory().build().newDataWriter(self._new_file(), spec, partition)
            delta = delta.addRows(self._written(writer, self._java.schema(), some).toDataFile())
        delta.commit()

    def _write_deletes(self, deletes: Deletes) -> Iterator[Any]:
        schema = self._java.schema()
        ids = self._gateway.new_array(self._gateway.jvm.int, len(deletes.columns))
        for index, name in enumerate(deletes.columns):
            ids[index] = schema.findField(name).fieldId()
        names = self._table.jvm.java.util.HashSet()
        for name in deletes.columns:
            names.add(name)
        narrow = schema.select(names)
        spec = self._java.specs()[deletes.spec]
        factory = self._factory().equalityFieldIds(ids).equalityDeleteRowSchema(narrow).build()
        for partition, some in self._by_partition(deletes.rows, spec):
            writer = factory.newEqualityDeleteWriter(self._new_file(), spec, partition)
            keys = [{name: row[name] for name in deletes.columns} for row in some]
            yield self._written(writer, narrow, keys).toDeleteFile()

    def _by_partition(self, rows: Iterable[Row], spec: Any) -> Iterator[tuple[Any, list[Row]]]:
        found: dict[str, tuple[Any, list[Row]]] = {}
        for row in rows:
            key = self._iceberg.PartitionKey(spec, self._java.schema())
            key.partition(self._record(self._java.schema(), row))
            found.setdefault(str(key.toString()), (key, []))[1].append(row)
        yield from found.values()

    def _factory(self) -> Any:
        return self._iceberg.data.GenericFileWriterFactory.Builder(self._java)

    def _new_file(self) -> Any:
        return self._iceberg.io.OutputFileFactory.builderFor(
            self._java, 1, 1).build().newOutputFile()

    def _written(self, writer: Any, schema: Any, rows: Iterable[Row]) -> Any:
        for row in rows:
            writer.write(self._record(schema, row))
        writer.close()
        return writer

    def _record(self, schema: Any, row: Row) -> Any:
        record = self._iceberg.data.GenericRecord.create(schema)
        for name, value in row.items():
            record.setField(name, value)
        return record
