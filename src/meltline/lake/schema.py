"""Adds columns to a table, also when others add columns at the same time."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from meltline.errors import CommitConflict
from meltline.kernels.infer import Addition, iceberg_type
from meltline.lake.jvm import java_errors
from meltline.lake.table import Table

TRIES = 10


def add_columns(table: Table, wanted: Iterable[Addition], any_case: bool = False) -> bool:
    """Add the columns that are still missing; the first committed type wins. With `any_case`, a
    column that differs in letter case only is not missing.

    True when the table's schema is another one than before the call, whoever changed it.
    """
    wanted = list(wanted)
    before = table.java.schema().schemaId()
    for attempt in range(TRIES):
        table.refresh()
        missing = [addition for addition in wanted if not _has(table, addition, any_case)]
        if not missing:
            break
        try:
            with java_errors(f"cannot add columns to table {table.identifier}"):
                update = table.java.updateSchema()
                for addition in missing:
                    update = _add(table, update, addition)
                update.commit()
        except CommitConflict:
            if attempt == TRIES - 1:
                raise
    table.refresh()
    return bool(table.java.schema().schemaId() != before)


def _add(table: Table, update: Any, addition: Addition) -> Any:
    # the form with a parent, also without one: the other takes a dot in a name for a path
    return update.addColumn(addition.parent, addition.name, _java_type(table, addition))


def _has(table: Table, addition: Addition, any_case: bool) -> bool:
    """Among the parent's own fields: `a.b` is a name, or `b` inside of `a`. A parent that is gone
    has room for nothing: the events are looked at again."""
    schema = table.java.schema()
    struct = schema.asStruct() if addition.parent is None else schema.findType(addition.parent)
    if struct is None or not struct.isStructType():
        return True
    path = addition.name if addition.parent is None else f"{addition.parent}.{addition.name}"
    # not Iceberg's own search in any case: it fails for columns that differ in nothing else
    if any_case and addition.name.lower() in {f.name().lower() for f in struct.fields()}:
        return True
    return struct.field(addition.name) is not None or schema.findField(path) is not None


def _java_type(table: Table, addition: Addition) -> Any:
    field = {"id": 1000000, "name": "x", "required": False, "type": iceberg_type(addition.guess)}
    text = json.dumps({"type": "struct", "schema-id": 0, "fields": [field]})
    return table.jvm.iceberg.SchemaParser.fromJson(text).findType("x")
