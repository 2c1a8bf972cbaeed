"""The partition specs of a table."""

from __future__ import annotations

from meltline.errors import CommitConflict
from meltline.lake.jvm import java_errors
from meltline.lake.table import Table

TRIES = 10


def spec_count(table: Table) -> int:
    """How many specs files of the table may have been written under."""
    return int(table.java.specs().size())


def spec_ids(table: Table) -> frozenset[int]:
    return frozenset(table.jvm.numbers(table.java.specs().keySet()))


def partition_columns(table: Table) -> frozenset[int]:
    """Ids of the columns that any spec of the table speaks of, also a former one."""
    specs = table.java.specs()
    return frozenset(int(field.sourceId()) for id_ in list(specs.keySet())
                     for field in list(specs.get(id_).fields()))


def unpartitioned_spec(table: Table) -> str:
    """Iceberg's JSON of a spec without fields, added beside the others when there is none.

    Equality deletes written under it reach rows of every partition. New data stays under the
    table's own spec.
    """
    for attempt in range(TRIES):
        table.refresh()
        specs = table.java.specs()
        for spec_id in sorted(spec_ids(table)):
            if specs.get(spec_id).isUnpartitioned():
                return str(table.jvm.iceberg.PartitionSpecParser.toJson(specs.get(spec_id)))
        try:
            with java_errors(f"cannot add an unpartitioned spec to table {table.identifier}"):
                update = table.java.updateSpec()
                for field in list(table.java.spec().fields()):
                    update = update.removeField(field.name())
                update.addNonDefaultSpec().commit()
        except CommitConflict:
            if attempt == TRIES - 1:
                raise
    raise CommitConflict(f"cannot add an unpartitioned spec to table {table.identifier}")
