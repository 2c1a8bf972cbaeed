"""Changes columns, identifier fields, partition spec and properties of a table in one commit."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from meltline.errors import CommitConflict
from meltline.kernels.infer import iceberg_type
from meltline.kernels.widen import Widening
from meltline.lake.content_files import java_list
from meltline.lake.jvm import java_errors
from meltline.lake.table import Table

TRIES = 10


@dataclass(frozen=True)
class NewColumn:
    """`parent` is the dotted path of the struct it belongs in, `field_json` Iceberg's JSON of the
    field; its ids are not final, and it is added as an optional one."""

    parent: str | None
    field_json: str


@dataclass(frozen=True)
class SchemaSteps:
    """`drops`, `renames` (path, new name) and `widened` speak of columns by the paths they have.
    The rest is done after that, and by the new paths: `adds`, `moves` (path, and the path it comes
    after; None: the first place), and `identifiers`, the identifier fields where they change."""

    drops: tuple[str, ...] = ()
    renames: tuple[tuple[str, str], ...] = ()
    widened: tuple[Widening, ...] = ()
    adds: tuple[NewColumn, ...] = ()
    moves: tuple[tuple[str, str | None], ...] = ()
    identifiers: tuple[str, ...] | None = None


@dataclass(frozen=True)
class PartitionStep:
    """A partition field to add: its name, the path of its column, and its transform."""

    name: str
    column: str
    transform: str


@dataclass(frozen=True)
class SpecSteps:
    """Done after the columns, and by their new paths."""

    removes: tuple[str, ...] = ()
    renames: tuple[tuple[str, str], ...] = ()
    adds: tuple[PartitionStep, ...] = ()


@dataclass(frozen=True)
class Evolution:
    schema: SchemaSteps = SchemaSteps()
    spec: SpecSteps = SpecSteps()
    properties: Mapping[str, str] = field(default_factory=dict)


def evolve_table(table: Table, find: Callable[[], Evolution | None]) -> bool:
    """Do what `find` says, by the table as it is now; None ends it. Whoever changes the table at
    the same time makes it look again. True when anything was done."""
    for attempt in range(TRIES):
        table.refresh()
        seen = _version(table)
        wanted = find()
        if wanted is None:
            return False
        try:
            with java_errors(f"cannot change the schema of table {table.identifier}"):
                _commit(table, wanted, seen)
            break
        except CommitConflict:
            if attempt == TRIES - 1:
                raise
    table.refresh()
    return True


def _version(table: Table) -> str:
    return str(table.java.operations().current().metadataFileLocation())


def _commit(table: Table, wanted: Evolution, seen: str) -> None:
    transaction = table.java.newTransaction()
    if _version(table) != seen:
        # a transaction begins with the newest metadata, not with those that were looked at
        raise CommitConflict(f"table {table.identifier} changed while it was looked at")
    _change_columns(table, transaction, wanted.schema)
    _add_columns(table, transaction, wanted.schema)
    _change_spec(table, transaction, wanted.spec)
    if wanted.properties:
        settings = transaction.updateProperties()
        for key, value in wanted.properties.items():
            settings = settings.set(key, value)
        settings.commit()
    transaction.commitTransaction()


def _change_columns(table: Table, transaction: Any, steps: SchemaSteps) -> None:
    if steps.identifiers is not None and (steps.drops or steps.renames or steps.widened):
        # Iceberg finds identifier fields by name: one that is dropped, made optional, or takes the
        # name of a column that is, would be in the way
        transaction.updateSchema().setIdentifierFields(java_list(table, ())).commit()
    if not (steps.drops or steps.renames or steps.widened):
        return
    update = transaction.updateSchema()
    for path in steps.drops:
        update = update.deleteColumn(path)
    for path, name in steps.renames:
        update = update.renameColumn(path, name)
    for widening in steps.widened:
        if widening.type is not None:
            type_ = {"id": 1, "name": "x", "required": False, "type": iceberg_type(widening.type)}
            update = update.updateColumn(widening.path, _java_field(table, type_).type())
        if widening.optional:
            update = update.makeColumnOptional(widening.path)
    update.commit()


def _add_columns(table: Table, transaction: Any, steps: SchemaSteps) -> None:
    """An update of its own: a name may only be taken when nobody has it any more."""
    if not (steps.adds or steps.moves or steps.identifiers is not None):
        return
    update = transaction.updateSchema()
    for column in steps.adds:
        made = _java_field(table, {**json.loads(column.field_json), "required": False})
        # the form with a parent, also without one: the other takes a dot in a name for a path
        update = update.addColumn(column.parent, made.name(), made.type(), made.doc(),
                                  made.initialDefaultLiteral())
    for path, after in steps.moves:
        update = update.moveFirst(path) if after is None else update.moveAfter(path, after)
    if steps.identifiers is not None:
        update = update.setIdentifierFields(java_list(table, steps.identifiers))
    update.commit()


def _change_spec(table: Table, transaction: Any, steps: SpecSteps) -> None:
    if not (steps.removes or steps.renames or steps.adds):
        return
    jvm = table.jvm.iceberg
    update = transaction.updateSpec()
    for name in steps.removes:
        update = update.removeField(name)
    for old, new in steps.renames:
        update = update.renameField(old, new)
    for part in steps.adds:
        transform = jvm.transforms.Transforms.fromString(part.transform)
        update = update.addField(
            part.name, jvm.expressions.Expressions.transform(part.column, transform))
    update.commit()


def _java_field(table: Table, field_json: Mapping[str, Any]) -> Any:
    text = json.dumps({"type": "struct", "schema-id": 0, "fields": [field_json]})
    return table.jvm.iceberg.SchemaParser.fromJson(text).columns().get(0)
