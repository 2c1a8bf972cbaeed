"""Adds and widens columns of a table, also when others do at the same time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from meltline.errors import CommitConflict
from meltline.kernels.infer import Addition, Guess, iceberg_type
from meltline.kernels.widen import Widening
from meltline.lake.jvm import java_errors
from meltline.lake.table import Table
from meltline.model.target import TableTarget

TRIES = 10


def add_columns(table: Table, wanted: Iterable[Addition], any_case: bool = False) -> bool:
    """Add the columns that are still missing; the first committed type wins. With `any_case`, a
    column that differs in letter case only is not missing.

    True when the table's schema is another one than before the call, whoever changed it.
    """
    wanted = list(wanted)

    def add(update: Any) -> Any:
        missing = [addition for addition in wanted if not _has(table, addition, any_case)]
        for addition in missing:
            update = _add(table, update, addition)
        return update if missing else None

    return _evolve(table, f"cannot add columns to table {table.identifier}", add)


def widen_columns(table: Table, find: Callable[[TableTarget], Sequence[Widening]]) -> bool:
    """Promote columns, or make them optional. `find` says which, by the table as it is now.

    True when the table's schema is another one than before the call, whoever changed it.
    """

    def widen(update: Any) -> Any:
        wanted = find(table.target())
        for widening in wanted:
            if widening.type is not None:
                update = update.updateColumn(widening.path, _java_type(table, widening.type))
            if widening.optional:
                update = update.makeColumnOptional(widening.path)
        return update if wanted else None

    return _evolve(table, f"cannot widen columns of table {table.identifier}", widen)


def _evolve(table: Table, doing: str, change: Callable[[Any], Any]) -> bool:
    """`change` makes its changes to an update, or returns None when none is left to make."""
    before = table.java.schema().schemaId()
    for attempt in range(TRIES):
        table.refresh()
        try:
            with java_errors(doing):
                update = change(table.java.updateSchema())
                if update is None:
                    break
                update.commit()
        except CommitConflict:
            if attempt == TRIES - 1:
                raise
    table.refresh()
    return bool(table.java.schema().schemaId() != before)


def _add(table: Table, update: Any, addition: Addition) -> Any:
    # the form with a parent, also without one: the other takes a dot in a name for a path
    return update.addColumn(addition.parent, addition.name, _java_type(table, addition.guess))


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


def _java_type(table: Table, guess: Guess) -> Any:
    field = {"id": 1000000, "name": "x", "required": False, "type": iceberg_type(guess)}
    text = json.dumps({"type": "struct", "schema-id": 0, "fields": [field]})
    return table.jvm.iceberg.SchemaParser.fromJson(text).findType("x")
