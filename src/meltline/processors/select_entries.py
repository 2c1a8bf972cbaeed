"""select_entries: keeps the named entries of events."""

from __future__ import annotations

from meltline.config.processors import SelectEntries
from meltline.errors import UserError
from meltline.expressions import compile_condition
from meltline.expressions.functions import normalize_pointer
from meltline.expressions.quoting import quote_list
from meltline.expressions.scope import pointer_steps
from meltline.model.event import BODY, Shape
from meltline.processors import json_text, typed_row
from meltline.processors.names import matches_any, matching_names
from meltline.processors.step import Stages, Step, for_good


def compile_select_entries(config: SelectEntries, shape: Shape, place: str = "") -> Step:
    """An entry of `include_keys` that is null is dropped as well, as in Data Prepper.

    In typed events the columns stay the same when there is a `select_when`: those that are not
    selected become NULL where it holds.
    """
    stages = Stages(shape)
    condition = None
    if config.select_when is not None:
        condition = compile_condition(config.select_when, shape, salt=place)
    if shape.kind == "json":
        _select_json(config, stages, condition)
    else:
        _select_typed(config, stages, condition)
    return stages.step()


def _select_json(config: SelectEntries, stages: Stages, condition: str | None) -> None:
    paths = [normalize_pointer(key) for key in config.include_keys]
    names = list(dict.fromkeys(pointer_steps(path)[0] for path in paths if "/" not in path[1:]))
    nested = [path for path in paths if "/" in path[1:]]
    values = {path: stages.compute(for_good(_value(path), condition)) for path in nested}
    chosen = stages.compute(for_good(condition or "TRUE", None, "FALSE"))
    if config.include_keys_regex or not json_text.can_take(names):
        listed, regexes = quote_list(names), config.include_keys_regex

        def selected(key: str, value: str) -> str:
            named = f"(list_contains({listed}, {key}) AND {value} <> 'null')"
            return f"{named} OR {matches_any(key, regexes)}" if regexes else named

        kept = json_text.keep_members(BODY, selected)
    else:
        kept = json_text.take_members(BODY, names)
    stages.replace(body=f"CASE WHEN {chosen} THEN {kept} ELSE {BODY} END")
    for path, value in values.items():
        changed = json_text.put(BODY, path, value)
        stages.replace(body=f"CASE WHEN {value} IS NULL THEN {BODY} ELSE {changed} END")


def _value(path: str) -> str:
    return f"nullif({json_text.value_at(BODY, path)}, 'null')"


def _select_typed(config: SelectEntries, stages: Stages, condition: str | None) -> None:
    shape = stages.shape
    paths = [normalize_pointer(key) for key in config.include_keys]
    names = {pointer_steps(path)[0] for path in paths if "/" not in path[1:]}
    for regex in config.include_keys_regex:
        names.update(matching_names(regex, list(shape.fields)))
    columns = typed_row.columns(shape)
    if condition is not None:
        if any("/" in path[1:] for path in paths):
            raise UserError("select_entries: in typed events select_when goes with columns only")
        chosen = stages.compute(for_good(condition, None, "FALSE"))
        kept = {name: sql if name in names else f"CASE WHEN NOT {chosen} THEN {sql} END"
                for name, sql in columns.items()}  # fmt: skip
        stages.replace(row=typed_row.keep(kept))
        return
    moved = {}
    for path in paths:
        found = typed_row.place_of(shape, path) if "/" in path[1:] else None
        if found is not None:
            moved[path] = stages.compute(found[0])
    stages.replace(row=typed_row.keep({n: sql for n, sql in columns.items() if n in names}))
    for path, value in moved.items():
        stages.replace(row=typed_row.put(stages.shape, path, value))
