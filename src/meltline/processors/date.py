"""date: reads a time and writes it in one form."""

from __future__ import annotations

from meltline.config.processors import Date
from meltline.expressions import compile_condition
from meltline.expressions.dates import EPOCH_UNITS, format_date
from meltline.expressions.functions import normalize_pointer
from meltline.expressions.kinds import JSON, TEMPORAL, describe_type
from meltline.expressions.zones import parse_zone
from meltline.model.event import BODY, Shape
from meltline.processors import json_text, typed_row
from meltline.processors.read_date import NOW, read_date
from meltline.processors.step import Stages, Step, for_good


def compile_date(config: Date, shape: Shape, place: str = "") -> Step:
    """Events without a readable time stay as they are. What is written is a text, always."""
    stages = Stages(shape)
    condition = None
    if config.date_when is not None:
        condition = compile_condition(config.date_when, shape, salt=place)
    path = normalize_pointer(config.destination)
    instant = stages.compute(_instant(config, stages, condition))
    written = stages.compute(_written(config, instant))
    if shape.kind == "json":
        value = stages.compute(f"CAST(to_json({written}) AS VARCHAR)")
        put = json_text.put(BODY, path, value)
        stages.replace(body=f"CASE WHEN {value} IS NULL THEN {BODY} ELSE {put} END")
        return stages.step()
    there = typed_row.place_of(shape, path)
    if there is not None:
        written = f"COALESCE({written}, CAST({there[0]} AS VARCHAR))"
    stages.replace(row=typed_row.put(shape, path, written))
    return stages.step()


def _instant(config: Date, stages: Stages, condition: str | None) -> str:
    if config.match is None:
        return for_good(NOW, condition)
    match, zone = config.match[0], parse_zone(config.source_timezone)
    path = normalize_pointer(match.key)
    if stages.shape.kind == "json":
        source = f"json_extract_string({BODY}, '{path.replace(chr(39), chr(39) * 2)}')"
    else:
        place = typed_row.place_of(stages.shape, path)
        if place is None:
            return "CAST(NULL AS TIMESTAMP)"
        source, type_ = place[0], describe_type(place[1])
        if type_.kind == TEMPORAL:
            zoned = type_.name == "TIMESTAMP WITH TIME ZONE"
            time = f"CAST({source} AS TIMESTAMP)"
            instant = f"timezone('UTC', {source})" if zoned else zone.instant(time)
            return for_good(instant, condition)
        if type_.kind == JSON:
            source = f"json_extract_string({source}, '$')"
        source = f"CAST({source} AS VARCHAR)"
    text = stages.compute(for_good(source, condition))
    choices = ", ".join(read_date(pattern, text, zone) for pattern in match.patterns)
    return f"COALESCE({choices})"


def _written(config: Date, instant: str) -> str:
    if config.output_format not in EPOCH_UNITS:
        return format_date(config.output_format, instant, parse_zone(config.destination_timezone))
    function = {
        "epoch_second": f"epoch_us({instant}) // 1000000",
        "epoch_milli": f"epoch_us({instant}) // 1000",
        "epoch_micro": f"epoch_us({instant})",
        "epoch_nano": f"CAST(epoch_us({instant}) AS HUGEINT) * 1000",
    }[config.output_format]
    return f"CAST({function} AS VARCHAR)"
