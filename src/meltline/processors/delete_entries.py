"""delete_entries: drops entries of events."""

from __future__ import annotations

from meltline.config.processors import DeleteEntries, DeleteEntry
from meltline.expressions import compile_condition
from meltline.expressions.functions import normalize_pointer
from meltline.expressions.quoting import quote_list
from meltline.model.event import BODY, Shape
from meltline.processors import json_text, typed_row
from meltline.processors.names import matches_any, matching_names
from meltline.processors.step import Stages, Step, for_good


def compile_delete_entries(config: DeleteEntries, shape: Shape, place: str = "") -> Step:
    """In typed events a column goes for all events, or becomes NULL where `delete_when` holds."""
    stages = Stages(shape)
    for number, entry in enumerate(config.entries or (config,)):
        condition = None
        if entry.delete_when is not None:
            salt = f"{place}.{number}"
            condition = compile_condition(entry.delete_when, stages.shape, salt=salt)
        if shape.kind == "json":
            _delete_json(entry, stages, condition)
        else:
            _delete_typed(entry, stages, condition)
    return stages.step()


def _delete_json(entry: DeleteEntry, stages: Stages, condition: str | None) -> None:
    chosen = stages.compute(for_good(condition or "TRUE", None, "FALSE"))
    for key in entry.with_keys or ():
        removed = json_text.remove(BODY, normalize_pointer(key))
        stages.replace(body=f"CASE WHEN {chosen} THEN {removed} ELSE {BODY} END")
    if entry.with_keys_regex:
        spared = quote_list([_plain(key) for key in entry.exclude_from_delete])
        regexes = entry.with_keys_regex

        def stays(key: str, _: str) -> str:
            matched = f"NOT {matches_any(key, regexes)}"
            if not entry.exclude_from_delete:
                return matched
            return f"{matched} OR list_contains({spared}, {key})"

        kept = json_text.keep_members(BODY, stays)
        stages.replace(body=f"CASE WHEN {chosen} THEN {kept} ELSE {BODY} END")


def _delete_typed(entry: DeleteEntry, stages: Stages, condition: str | None) -> None:
    paths = [normalize_pointer(key) for key in entry.with_keys or ()]
    spared = {_plain(key) for key in entry.exclude_from_delete}
    for regex in entry.with_keys_regex or ():
        found = matching_names(regex, [name for name in stages.shape.fields if name not in spared])
        paths += ["/" + name.replace("~", "~0").replace("/", "~1") for name in found]
    paths = [path for path in paths if typed_row.find_type(stages.shape, path) is not None]
    if condition is None:
        for path in paths:
            stages.replace(row=typed_row.remove(stages.shape, path))
        return
    chosen = stages.compute(for_good(condition, None, "FALSE"))
    for path in paths:
        place = typed_row.place_of(stages.shape, path)
        if place is not None:
            emptied = f"CASE WHEN NOT {chosen} THEN {place[0]} END"
            stages.replace(row=typed_row.put(stages.shape, path, emptied))


def _plain(key: str) -> str:
    return key.strip("/").replace("~1", "/").replace("~0", "~")
