"""convert_type: gives values another type."""

from __future__ import annotations

from meltline.config.processors import ConvertType
from meltline.errors import UserError
from meltline.expressions import compile_condition, quote_literal
from meltline.expressions.functions import normalize_pointer
from meltline.expressions.quoting import quote_list
from meltline.model.event import BAD, BODY, Shape
from meltline.processors import convert_json, convert_typed, json_text, typed_row
from meltline.processors.metadata import with_tags
from meltline.processors.step import Stages, Step, for_good


def compile_convert_type(config: ConvertType, shape: Shape, place: str = "") -> Step:
    """A JSON value that does not convert stays as it was, and the event gets the tags.

    A typed column cannot keep such a value. It becomes NULL and the event gets the tags; without
    `tags_on_failure` nobody would notice, so the event becomes a bad one.
    """
    stages = Stages(shape)
    condition = None
    if config.convert_when is not None:
        condition = compile_condition(config.convert_when, shape, salt=place)
    chosen = stages.compute(for_good(condition or "TRUE", None, "FALSE"))
    for key in config.keys or (config.key or "",):
        if shape.kind == "json":
            _convert_json(config, normalize_pointer(key), stages, chosen)
        else:
            _convert_typed(config, normalize_pointer(key), stages, chosen)
    return stages.step()


def _convert_json(config: ConvertType, path: str, stages: Stages, chosen: str) -> None:
    there = f"nullif({json_text.value_at(BODY, path)}, 'null')"
    value = stages.compute(f"CASE WHEN {chosen} THEN {there} END")
    dropped = "FALSE"
    if config.null_conversion_values:
        nulls = quote_list(config.null_conversion_values)
        dropped = stages.compute(
            f"COALESCE(list_contains({nulls}, json_extract_string({value}, '$')), FALSE)"
        )
    converted = stages.compute(
        f"CASE WHEN {value} IS NOT NULL AND NOT {dropped} "
        f"THEN {convert_json.convert(value, config.type, config.scale)} END"
    )
    if config.tags_on_failure:
        failed = f"{value} IS NOT NULL AND NOT {dropped} AND {converted} IS NULL"
        stages.replace(meta=with_tags(stages.shape, config.tags_on_failure, failed))
    same = f"{converted} IS NULL OR {converted} = {value}"
    put = json_text.put(BODY, path, converted, present=True)
    changed = f"CASE WHEN {same} THEN {BODY} ELSE {put} END"
    if dropped != "FALSE":
        removed = json_text.remove(BODY, path, present=True)
        changed = f"CASE WHEN {dropped} THEN {removed} ELSE {changed} END"
    stages.replace(body=changed)


def _convert_typed(config: ConvertType, path: str, stages: Stages, chosen: str) -> None:
    place = typed_row.place_of(stages.shape, path)
    if place is None:
        return
    sql, source = place
    target = convert_typed.target_type(path, source, config.type, config.scale)
    if config.convert_when is not None and target != source:
        raise UserError(
            f"convert_type cannot make {path} a {target} in some events only; it is a {source}",
            hint="drop convert_when: a column of typed events has one type",
        )
    value = sql
    if config.null_conversion_values:
        nulls = quote_list(config.null_conversion_values)
        value = f"CASE WHEN NOT list_contains({nulls}, CAST({sql} AS VARCHAR)) THEN {sql} END"
    value = stages.compute(f"CASE WHEN {chosen} THEN {value} ELSE {sql} END")
    converted = stages.compute(
        convert_typed.convert(value, source, target, config.type, config.scale)
    )
    failed = stages.compute(f"{chosen} AND {value} IS NOT NULL AND {converted} IS NULL")
    if config.tags_on_failure:
        stages.replace(meta=with_tags(stages.shape, config.tags_on_failure, failed))
    elif target != source:
        reason = quote_literal(f"convert_type: {path} is no {config.type}: ")
        problem = f"{reason} || CAST({value} AS VARCHAR)"
        stages.replace(bad=f"CASE WHEN {failed} THEN {problem} ELSE {BAD} END")
    stages.replace(row=typed_row.put(stages.shape, path, converted))
