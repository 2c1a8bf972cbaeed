"""add_entries: sets entries of events or of their metadata."""

from __future__ import annotations

from meltline.config.processors import AddEntries, AddEntry
from meltline.errors import UserError
from meltline.expressions import compile_condition, quote_identifier
from meltline.expressions.functions import normalize_pointer
from meltline.expressions.kinds import LIST, describe_type
from meltline.model.event import BODY, META, Shape
from meltline.processors import json_text, typed_row
from meltline.processors.metadata import with_field
from meltline.processors.step import Stages, Step, for_good
from meltline.processors.values import cast_value, json_value, typed_value


def compile_add_entries(config: AddEntries, shape: Shape, place: str = "") -> Step:
    """Every entry sees what the ones before it have added."""
    stages = Stages(shape)
    for number, entry in enumerate(config.entries):
        salt = f"{place}.{number}"
        condition = None
        if entry.add_when is not None:
            condition = compile_condition(entry.add_when, stages.shape, salt=f"{salt}.when")
        if entry.metadata_key is not None:
            _add_metadata(entry, stages, condition, salt)
        elif shape.kind == "json":
            _add_json(entry, stages, condition, salt)
        else:
            _add_typed(entry, stages, condition, salt)
    return stages.step()


def _add_json(entry: AddEntry, stages: Stages, condition: str | None, salt: str) -> None:
    path = normalize_pointer(entry.key or "")
    value = stages.compute(for_good(json_value(entry, stages.shape, salt), condition))
    if entry.append_if_key_exists:
        present = f"CASE WHEN {value} IS NOT NULL THEN {json_text.value_at(BODY, path)} END"
        value = stages.compute(_appended_json(stages.compute(present), value))
    changed = json_text.put(BODY, path, value)
    if not entry.overwrite_if_key_exists and not entry.append_if_key_exists:
        added = json_text.put(BODY, path, value, present=False)
        changed = f"CASE WHEN {json_text.exists(BODY, path)} THEN {BODY} ELSE {added} END"
    stages.replace(body=f"CASE WHEN {value} IS NULL THEN {BODY} ELSE {changed} END")


def _appended_json(present: str, value: str) -> str:
    """A list of what is there and the value; just the value when nothing is there."""
    longer = f"CASE WHEN {present} = '[]' THEN '[' ELSE left({present}, -1) || ',' END"
    return (
        f"CASE WHEN {present} IS NULL THEN {value} WHEN starts_with({present}, '[') "
        f"THEN {longer} || {value} || ']' ELSE '[' || {present} || ',' || {value} || ']' END"
    )


def _add_typed(entry: AddEntry, stages: Stages, condition: str | None, salt: str) -> None:
    path = normalize_pointer(entry.key or "")
    value, type_name = typed_value(entry, stages.shape, salt)
    present = typed_row.place_of(stages.shape, path)
    otherwise = "NULL"
    if present is not None:
        if not entry.overwrite_if_key_exists and not entry.append_if_key_exists:
            return
        if entry.append_if_key_exists:
            value, type_name = _appended_typed(present, value, type_name)
        if condition is not None:
            _check_one_type(path, present[1], type_name)
            otherwise = present[0]
    stages.replace(row=typed_row.put(stages.shape, path, for_good(value, condition, otherwise)))


def _appended_typed(present: tuple[str, str], value: str, type_name: str) -> tuple[str, str]:
    sql, known = present
    if describe_type(known).kind == LIST:
        element = dict(describe_type(known).children)["child"]
        return f"list_append({sql}, {cast_value(value, type_name, element)})", known
    return f"[{sql}, {cast_value(value, type_name, known)}]", f"{known}[]"


def _check_one_type(path: str, before: str, after: str) -> None:
    if before != after:
        raise UserError(
            f"add_entries would make {path} a {after} in some events; it is a {before}",
            hint="drop add_when, use another key, or convert the value",
        )


def _add_metadata(entry: AddEntry, stages: Stages, condition: str | None, salt: str) -> None:
    """A field of the metadata keeps its type; a NULL in it counts as not there."""
    name = (entry.metadata_key or "").strip("/")
    value, type_name = typed_value(entry, stages.shape, salt)
    known = stages.shape.metadata.get(name)
    present = f"{META}.{quote_identifier(name)}"
    if known is None:
        present = f"CAST(NULL AS {type_name})"
    elif entry.append_if_key_exists:
        if describe_type(known).kind != LIST:
            raise UserError(f'append_if_key_exists: metadata "{name}" is no list but a {known}')
        element = dict(describe_type(known).children)["child"]
        value = f"list_append({present}, {cast_value(value, type_name, element)})"
    elif entry.overwrite_if_key_exists:
        value = cast_value(value, type_name, known)
    else:
        value = f"COALESCE({present}, {cast_value(value, type_name, known)})"
    stages.replace(meta=with_field(stages.shape, name, for_good(value, condition, present)))
