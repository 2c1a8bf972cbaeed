"""How earlier versions of rows leave a table: decided from the table as it is. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, FloatType, NestedField

from meltline.config.sink_iceberg import DeleteMode
from meltline.config.suggest import choice_hint
from meltline.errors import UserError
from meltline.model.target import TableTarget

UNPARTITIONED = '{"spec-id":0,"fields":[]}'


@dataclass(frozen=True)
class DeletePlan:
    """`scoped`: an equality delete is written for the partition of its key, and that is enough."""

    mode: DeleteMode
    identifiers: tuple[str, ...]
    scoped: bool = False


def plan_deletes(
    target: TableTarget, specs: int, identifier_columns: Sequence[str],
    mode: DeleteMode | None,
) -> DeletePlan:
    """Raises UserError for a table that cannot be changed in this way.

    `specs` is how many partition specs the table has had.
    """
    fields = _identifiers(target, identifier_columns)
    chosen = mode or ("position" if target.format_version >= 3 else "equality")
    if target.format_version < 2 and chosen != "copy-on-write":
        raise UserError(
            f"table {target.table} has format version 1, which knows no deleted rows: "
            f"delete_mode {chosen} cannot be used",
            hint="upgrade the table (set its property format-version to 2), "
                 "or set delete_mode: copy-on-write")
    names = tuple(field.name for field in fields)
    return DeletePlan(chosen, names, _scoped(target, specs, fields))


def _identifiers(target: TableTarget, wanted: Sequence[str]) -> list[NestedField]:
    schema = target.schema
    names = list(wanted) or _identifier_fields(schema)
    if not names:
        raise UserError(
            f"nothing says which columns identify a row of table {target.table}",
            hint="set identifier_columns in the sink, or identifier fields in the table")
    top = {field.name: field for field in schema.fields}
    found = []
    for name in dict.fromkeys(names):
        field = top.get(name)
        if field is None:
            raise _no_column(target, name, list(top))
        if not field.field_type.is_primitive or isinstance(field.field_type,
                                                            FloatType | DoubleType):
            raise UserError(
                f'column "{name}" ({field.field_type}) of table {target.table} cannot identify '
                f"rows",
                hint="name columns of whole numbers, texts, dates or other exact values")
        found.append(field)
    return found


def _no_column(target: TableTarget, name: str, columns: Sequence[str]) -> UserError:
    try:
        target.schema.find_field(name)
    except ValueError:
        return UserError(f'table {target.table} has no column "{name}" to identify its rows by',
                         hint=choice_hint(name, columns, "columns"))
    return UserError(f'field "{name}" of table {target.table} is inside of another column and '
                     f"cannot identify rows",
                     hint="set identifier_columns to columns of their own")


def _identifier_fields(schema: Schema) -> list[str]:
    return [schema.find_column_name(id_) or "" for id_ in schema.identifier_field_ids]


def _scoped(target: TableTarget, specs: int, identifiers: Sequence[NestedField]) -> bool:
    """An equality delete only reaches rows of its own spec and partition. All rows of a key are
    there when the partition follows from the key, and there never was another spec."""
    ids = {field.field_id for field in identifiers}
    return specs == 1 and all(field.source_id in ids for field in target.spec.fields)
