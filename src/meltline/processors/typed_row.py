"""Changes to the struct of a typed event."""

from __future__ import annotations

from collections.abc import Mapping

from meltline.errors import UserError
from meltline.expressions import quote_identifier
from meltline.expressions.kinds import STRUCT, describe_type
from meltline.expressions.scope import pointer_steps
from meltline.model.event import ROW, Shape
from meltline.processors.describe import struct_of

ROW_SQL = quote_identifier(ROW)


def place_of(shape: Shape, path: str) -> tuple[str, str] | None:
    """SQL and type of the value at a path; None when the events have no such place."""
    type_name = find_type(shape, path)
    if type_name is None:
        return None
    return ".".join([ROW_SQL, *map(quote_identifier, pointer_steps(path))]), type_name


def find_type(shape: Shape, path: str) -> str | None:
    """The type at a path of struct fields. Raises UserError for a path into something else."""
    fields: Mapping[str, str] = shape.fields
    steps = pointer_steps(path)
    for step in steps[:-1]:
        if step not in fields:
            return None
        type_ = describe_type(fields[step])
        if type_.kind != STRUCT:
            raise UserError(
                f"a processor cannot change {path}: {step} is of type {type_.name}",
                hint="in typed events only columns and fields of structs can be changed",
            )
        fields = dict(type_.children)
    return fields.get(steps[-1])


def put(shape: Shape, path: str, value: str) -> str:
    """SQL of the row with a value at a path, in place or as the last field. NULL rows stay so."""
    find_type(shape, path)
    return _kept(_with(ROW_SQL, shape.fields, pointer_steps(path), value))


def remove(shape: Shape, path: str) -> str:
    """SQL of the row without the field at a path."""
    if find_type(shape, path) is None:
        return ROW_SQL
    return _kept(_without(ROW_SQL, shape.fields, pointer_steps(path)))


def keep(values: Mapping[str, str]) -> str:
    """SQL of a row of just these fields."""
    return _kept(struct_of(values))


def columns(shape: Shape) -> dict[str, str]:
    """SQL of every top-level field."""
    return {name: f"{ROW_SQL}.{quote_identifier(name)}" for name in shape.fields}


def _kept(struct: str) -> str:
    return f"CASE WHEN {ROW_SQL} IS NOT NULL THEN {struct} END"


def _with(sql: str, fields: Mapping[str, str], steps: list[str], value: str) -> str:
    values = {name: f"{sql}.{quote_identifier(name)}" for name in fields}
    if len(steps) > 1:
        inner = dict(describe_type(fields[steps[0]]).children) if steps[0] in fields else {}
        value = _with(f"{sql}.{quote_identifier(steps[0])}", inner, steps[1:], value)
    return struct_of({**values, steps[0]: value})


def _without(sql: str, fields: Mapping[str, str], steps: list[str]) -> str:
    values = {name: f"{sql}.{quote_identifier(name)}" for name in fields}
    inner = values.pop(steps[0])
    if len(steps) == 1:
        return struct_of(values)
    children = dict(describe_type(fields[steps[0]]).children)
    changed = f"CASE WHEN {inner} IS NOT NULL THEN {_without(inner, children, steps[1:])} END"
    # Written again under its name, so that the order of the fields stays.
    order = {name: f"{sql}.{quote_identifier(name)}" for name in fields}
    return struct_of({**order, steps[0]: changed})
