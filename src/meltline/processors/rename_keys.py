"""rename_keys: moves values to other keys; a renamed entry becomes the last one."""

from __future__ import annotations

from meltline.config.processors import RenameEntry, RenameKeys
from meltline.errors import UserError
from meltline.expressions import compile_condition, quote_literal
from meltline.expressions.functions import normalize_pointer
from meltline.model.event import BODY, Shape
from meltline.processors import json_text, typed_row
from meltline.processors.names import matching_names
from meltline.processors.step import Stages, Step, for_good


def compile_rename_keys(config: RenameKeys, shape: Shape, place: str = "") -> Step:
    """Nothing happens where the old key is missing, or the new one is there and stays."""
    stages = Stages(shape)
    for number, entry in enumerate(config.entries):
        condition = None
        if entry.rename_when is not None:
            salt = f"{place}.{number}"
            condition = compile_condition(entry.rename_when, stages.shape, salt=salt)
        if shape.kind == "json" and entry.from_key_regex is None:
            _rename_json(entry, stages, condition)
        elif shape.kind == "json":
            _rename_matching_json(entry, stages, condition)
        else:
            _rename_typed(entry, stages, condition)
    return stages.step()


def _rename_json(entry: RenameEntry, stages: Stages, condition: str | None) -> None:
    before, after = normalize_pointer(entry.from_key or ""), normalize_pointer(entry.to_key)
    if before == after:
        return
    value = json_text.value_at(BODY, before)
    if not entry.overwrite_if_to_key_exists:
        value = f"CASE WHEN NOT {json_text.exists(BODY, after)} THEN {value} END"
    moved = stages.compute(for_good(value, condition))
    _where(stages, moved, json_text.remove(BODY, before, present=True))
    known = None if entry.overwrite_if_to_key_exists else False
    _where(stages, moved, json_text.put(BODY, after, moved, present=known))


def _where(stages: Stages, moved: str, changed: str) -> None:
    stages.replace(body=f"CASE WHEN {moved} IS NULL THEN {BODY} ELSE {changed} END")


def _rename_matching_json(entry: RenameEntry, stages: Stages, condition: str | None) -> None:
    """Without overwriting the first matching key is renamed; else all are, and the last wins."""
    after = normalize_pointer(entry.to_key)
    regex = quote_literal(entry.from_key_regex)
    found = f"list_filter(json_keys({BODY}), lambda k: regexp_full_match(k, {regex}))"
    if not entry.overwrite_if_to_key_exists:
        found = f"CASE WHEN NOT {json_text.exists(BODY, after)} THEN {found}[:1] END"
    keys = stages.compute(for_good(f"nullif({found}, [])", condition))
    path = f"'/' || replace(replace({keys}[-1], '~', '~0'), '/', '~1')"
    last = json_text.exactly(BODY, lambda t: f"CAST(json_extract({t}, {path}) AS VARCHAR)")
    moved = stages.compute(f"CASE WHEN {keys} IS NOT NULL THEN {last} END")
    kept = json_text.keep_members(BODY, lambda key, _: f"NOT list_contains({keys}, {key})")
    _where(stages, moved, kept)
    _where(stages, moved, json_text.put(BODY, after, moved))


def _rename_typed(entry: RenameEntry, stages: Stages, condition: str | None) -> None:
    after = normalize_pointer(entry.to_key)
    for before in _sources(entry, stages.shape):
        source = typed_row.place_of(stages.shape, before)
        target = typed_row.place_of(stages.shape, after)
        if source is None or before == after:
            continue
        if target is not None and not entry.overwrite_if_to_key_exists:
            continue
        if condition is None:
            _move(stages, before, after)
        else:
            _move_some(stages, before, after, condition)


def _sources(entry: RenameEntry, shape: Shape) -> list[str]:
    if entry.from_key is not None:
        return [normalize_pointer(entry.from_key)]
    found = matching_names(entry.from_key_regex or "", list(shape.fields))
    chosen = found if entry.overwrite_if_to_key_exists else found[:1]
    return ["/" + name.replace("~", "~0").replace("/", "~1") for name in chosen]


def _move(stages: Stages, before: str, after: str) -> None:
    place = typed_row.place_of(stages.shape, before)
    moved = stages.compute(place[0] if place else "NULL")
    stages.replace(row=typed_row.remove(stages.shape, before))
    if typed_row.find_type(stages.shape, after) is not None:
        stages.replace(row=typed_row.remove(stages.shape, after))
    stages.replace(row=typed_row.put(stages.shape, after, moved))


def _move_some(stages: Stages, before: str, after: str, condition: str) -> None:
    """Every event has both columns then; the one that is not in use is NULL."""
    source = typed_row.place_of(stages.shape, before)
    target = typed_row.place_of(stages.shape, after)
    if source is None:
        return
    if target is not None and target[1] != source[1]:
        raise UserError(
            f"rename_keys would make {after} a {source[1]} in some events; it is a {target[1]}",
            hint="drop rename_when or use another key",
        )
    chosen = stages.compute(for_good(condition, None, "FALSE"))
    moved = stages.compute(source[0])
    emptied = f"CASE WHEN NOT {chosen} THEN {moved} END"
    stages.replace(row=typed_row.put(stages.shape, before, emptied))
    otherwise = target[0] if target is not None else "NULL"
    filled = f"CASE WHEN {chosen} THEN {moved} ELSE {otherwise} END"
    stages.replace(row=typed_row.put(stages.shape, after, filled))
