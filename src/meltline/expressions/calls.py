"""The functions of the language as SQL. functions.py has checked the arguments before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from meltline.expressions import kinds
from meltline.expressions.cidr import in_networks
from meltline.expressions.dates import format_date
from meltline.expressions.operands import (
    ConstantOperand,
    JsonOperand,
    Operand,
    TypedOperand,
    constant,
    truth,
    typed,
)
from meltline.expressions.quoting import quote_identifier, quote_list, quote_literal
from meltline.expressions.scope import Scope
from meltline.expressions.variants import VARIANT, json_sql
from meltline.expressions.zones import UTC, parse_zone
from meltline.model.event import BODY, ORD, ROW

NOW_VARIABLE = "meltline_now_ms"
SEED_VARIABLE = "meltline_epoch_seed"

_ISO_DATE_TIME = (
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?(?:\[[^\]]+\])?"
)


def call(name: str, arguments: list[Operand], scope: Scope) -> Operand:
    failures = tuple(failure for argument in arguments for failure in argument.failures)
    operand = _CALLS[name](arguments, scope)
    return replace(operand, failures=(*failures, *operand.failures))


def _text_of(operand: Operand) -> str:
    """The SQL of a constant text; functions.py lets nothing else through."""
    return str(operand.value).strip() if isinstance(operand, ConstantOperand) else ""


def _not_text(operand: Operand) -> str:
    """SQL, never NULL: there is a value, but no text."""
    if operand.never_null and operand.text():
        return "FALSE"
    text = operand.text()
    if text is None:
        return f"(NOT {operand.is_null()})"
    if operand.kind == kinds.STRING:
        return "FALSE"
    return f"(NOT {operand.is_null()} AND ({text}) IS NULL)"


def _failures(*conditions: str) -> tuple[str, ...]:
    return tuple(condition for condition in conditions if condition != "FALSE")


def _text_test(function: str) -> Callable[[list[Operand], Scope], Operand]:
    """A null gives false; anything else but a text fails."""

    def compile_(arguments: list[Operand], _: Scope) -> Operand:
        one, other = arguments
        second = _not_text(other)
        if second != "FALSE":
            second = f"(NOT {one.is_null()} AND {second})"
        failures = _failures(_not_text(one), second)
        text, part = one.text(), other.text()
        if text is None or part is None:
            return truth("FALSE", failures)
        return truth(f"COALESCE({function}({text}, {part}), FALSE)", failures)

    return compile_


def _substring(after: bool, last: bool) -> Callable[[list[Operand], Scope], Operand]:
    """Without the delimiter in it the whole text is given back."""

    def compile_(arguments: list[Operand], _: Scope) -> Operand:
        source, delimiter = arguments
        failures = _failures(*map(_not_text, arguments))
        text, mark = source.text(), delimiter.text()
        if text is None:
            return Operand(failures=failures)
        if mark is None:
            return typed(text, "VARCHAR", failures)
        # Greedy or not: the last or the first place of the delimiter.
        pattern = f"'(?s)^(.*{'' if last else '?'})' || regexp_escape(m[2]) || '(.*)$'"
        cut = f"regexp_extract(m[1], {pattern}, {2 if after else 1})"
        found = "COALESCE(m[2], '') <> '' AND contains(m[1], m[2])"
        sql = (
            f"list_transform([[{text}, {mark}]], "
            f"lambda m: CASE WHEN {found} THEN {cut} ELSE m[1] END)[1]"
        )
        return typed(sql, "VARCHAR", failures)

    return compile_


def _length(arguments: list[Operand], _: Scope) -> Operand:
    """Characters of a text, members of a list or map; null for null; else a failure."""
    value = arguments[0]
    if isinstance(value, JsonOperand):
        sql = (
            f"CASE {value.raw}[1] WHEN '\"' THEN length(json_extract_string({value.raw}, '$')) "
            f"WHEN '[' THEN json_array_length({value.raw}) "
            f"WHEN '{{' THEN len(json_keys({value.raw})) END"
        )
        failed = f"(NOT {value.is_null()} AND {value.raw}[1] NOT IN ('\"', '[', '{{'))"
        return typed(f"CAST({sql} AS BIGINT)", "BIGINT", (failed,))
    if isinstance(value, TypedOperand) and value.kind in (kinds.LIST, kinds.STRUCT, kinds.MAP):
        size = {
            kinds.LIST: f"len({value.sql})",
            kinds.MAP: f"cardinality({value.sql})",
            kinds.STRUCT: f"CASE WHEN {value.sql} IS NOT NULL THEN {len(value.type.children)} END",
        }[value.kind]
        return typed(f"CAST({size} AS BIGINT)", "BIGINT")
    text = value.text()
    if text is None:
        return Operand(failures=_failures(_not_text(value)))
    return typed(f"length({text})", "BIGINT", _failures(_not_text(value)))


def _join(arguments: list[Operand], _: Scope) -> Operand:
    """A list becomes one text; in a map every list does."""
    value = arguments[-1]
    delimiter = ","
    if len(arguments) == 2 and isinstance(arguments[0], ConstantOperand):
        delimiter = str(arguments[0].value).replace("\\,", ",")
    json = value.json()
    joined = _joined("v", delimiter)
    pairs = "list_zip(json_keys(v), CAST(json_extract(v, '$.*') AS VARCHAR[]))"
    member = (
        "CAST(to_json(m[1]) AS VARCHAR) || ':' || CASE WHEN starts_with(m[2], '[') "
        f"THEN COALESCE({_joined('m[2]', delimiter)}, m[2]) ELSE m[2] END"
    )
    members = f"array_to_string(list_transform({pairs}, lambda m: {member}), ',')"
    sql = (
        f"list_transform([{json}], lambda v: CASE v[1] WHEN '[' THEN {joined} "
        f"WHEN '{{' THEN '{{' || {members} || '}}' END)[1]"
    )
    return JsonOperand(raw=sql, failures=(f"({sql} IS NULL)",))


def _joined(array: str, delimiter: str) -> str:
    """The JSON text of the joined elements; NULL when one of them is null."""
    items = f"json_extract_string({array}, '$[*]')"
    joined = f"CAST(to_json(array_to_string({items}, {quote_literal(delimiter)})) AS VARCHAR)"
    return f"CASE WHEN NOT list_contains(json_extract({array}, '$[*]'), 'null') THEN {joined} END"


def _has_tags(arguments: list[Operand], scope: Scope) -> Operand:
    tags = scope.metadata("tags")
    if not isinstance(tags, TypedOperand) or tags.type.name != "VARCHAR[]":
        return truth("FALSE")
    wanted = quote_list([_text_of(argument) for argument in arguments])
    return truth(f"COALESCE(list_has_all({tags.sql}, {wanted}), FALSE)")


def _cidr_contains(arguments: list[Operand], _: Scope) -> Operand:
    address = arguments[0].text()
    if address is None:
        return truth("FALSE")
    return truth(in_networks(address, [_text_of(argument) for argument in arguments[1:]]))


def _format_date_time(arguments: list[Operand], _: Scope) -> Operand:
    """A number is milliseconds since 1970; a text is ISO 8601, in the source zone by default."""
    texts = [_text_of(argument) for argument in arguments[1:]]
    destination = parse_zone(texts[1]) if len(texts) > 1 else UTC
    source = parse_zone(texts[2]) if len(texts) > 2 else UTC
    instants, value = [], arguments[0]
    if value.double():
        instants.append(f"TRY(epoch_ms(TRY_CAST(trunc({value.double()}) AS BIGINT)))")
    if value.text():
        zoned = f"timezone('UTC', TRY_CAST({_without_zone_name('s')} AS TIMESTAMPTZ))"
        local = source.instant(f"TRY_CAST({_without_zone_name('s')} AS TIMESTAMP)")
        instants.append(
            f"list_transform([{value.text()}], lambda s: CASE WHEN regexp_full_match(s, "
            f"'{_ISO_DATE_TIME}') THEN CASE WHEN regexp_matches(s, 'T.*[Z+-]') "
            f"THEN {zoned} ELSE {local} END END)[1]"
        )
    if isinstance(value, TypedOperand) and value.kind == kinds.TEMPORAL:
        zoned_type = value.type.name == "TIMESTAMP WITH TIME ZONE"
        local = source.instant(f"CAST({value.sql} AS TIMESTAMP)")
        instants.append(f"timezone('UTC', {value.sql})" if zoned_type else local)
    if not instants:
        return Operand(failures=("TRUE",))
    instant = f"COALESCE({', '.join(instants)})"
    sql = f"list_transform([{instant}], lambda t: {format_date(texts[0], 't', destination)})[1]"
    return typed(sql, "VARCHAR", (f"({sql} IS NULL)",))


def _without_zone_name(text: str) -> str:
    return f"regexp_replace({text}, '\\[.*', '')"


def _generate_uuid(_: list[Operand], scope: Scope) -> Operand:
    """The same for the same event of the same epoch, however often the epoch is run."""
    seed = f"COALESCE(getvariable('{SEED_VARIABLE}')::VARCHAR, '')"
    place = quote_literal(scope.unique_place())
    digits = f"md5({seed} || '/' || CAST({ORD} AS VARCHAR) || {place})"
    form = r"'^(.{8})(.{4}).(.{3}).(.{3})(.{12})$', '\1-\2-4\3-8\4-\5'"
    return typed(f"regexp_replace({digits}, {form})", "VARCHAR")


def _now(_: list[Operand], __: Scope) -> Operand:
    return typed(f"CAST(getvariable('{NOW_VARIABLE}') AS BIGINT)", "BIGINT")


def _get_metadata(arguments: list[Operand], scope: Scope) -> Operand:
    return scope.metadata(_text_of(arguments[0]))


def _get_event_type(_: list[Operand], scope: Scope) -> Operand:
    known = scope.metadata("event_type")
    return known if known.kind else constant("event")


def _to_json_string(_: list[Operand], scope: Scope) -> Operand:
    if scope.shape.kind == "json":
        return typed(BODY, "VARCHAR")
    row = quote_identifier(ROW)
    fields = {quote_identifier(name): type_ for name, type_ in scope.shape.fields.items()}
    variants = [f"{name} := {json_sql(f'{row}.{name}', VARIANT)}"
                for name, type_ in fields.items() if type_ == VARIANT]
    if variants:
        row = f"CASE WHEN {row} IS NOT NULL THEN struct_update({row}, {', '.join(variants)}) END"
    return typed(f"CAST(to_json({row}) AS VARCHAR)", "VARCHAR")


_CALLS: dict[str, Callable[[list[Operand], Scope], Operand]] = {
    "length": _length,
    "hasTags": _has_tags,
    "getMetadata": _get_metadata,
    "contains": _text_test("contains"),
    "startsWith": _text_test("starts_with"),
    "cidrContains": _cidr_contains,
    "join": _join,
    "getEventType": _get_event_type,
    "generateUuid": _generate_uuid,
    "now": _now,
    "formatDateTime": _format_date_time,
    "toJsonString": _to_json_string,
    "substringAfter": _substring(after=True, last=False),
    "substringAfterLast": _substring(after=True, last=True),
    "substringBefore": _substring(after=False, last=False),
    "substringBeforeLast": _substring(after=False, last=True),
}
