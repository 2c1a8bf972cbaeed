"""Changes to the text of a JSON object that leave all the rest of it as it was written.

DuckDB's JSON functions read a number with a point as a double and write it anew, so that
12345678901234567.891 or 1e3 would come out as another text. Therefore, for each event:

1. a top-level entry with a plain value is cut out of the text, or put into it, with a regex;
2. otherwise DuckDB's functions do it, when no number in the text could change by that;
3. else all numbers are first wrapped into marked strings, and unwrapped afterwards.

A wrapped number is a string that begins with the character U+0001, in its escaped spelling. A
text that has this character already is not wrapped: its numbers keep their values as doubles.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from meltline.expressions.quoting import quote_identifier, quote_literal
from meltline.expressions.scope import pointer_steps

_MARK = r"\u0001"
_PLACE = f'"{_MARK}"'
_STRING = r'"(?:[^"\\]|\\.)*"'
_PLAIN_VALUE = rf'(?:{_STRING}|[^,{{}}\[\]"\s]+)'
_BEFORE_NUMBER = r"[:\[,][ \t\r\n]*-?"
_FRAGILE = "|".join(
    (
        rf"{_BEFORE_NUMBER}[0-9]+(?:\.[0-9]+)?[eE]",
        rf"{_BEFORE_NUMBER}[0-9]+\.[0-9]+0[^0-9]",
        rf"{_BEFORE_NUMBER}[0-9.]{{17}}",
        rf"{_BEFORE_NUMBER}0\.0000",
        r"[:\[,][ \t\r\n]*-0[^.]",
    )
)


def is_fragile(text: str) -> str:
    """SQL: some number could be written differently by DuckDB. May be true without need."""
    return f"regexp_matches({text}, {quote_literal(_FRAGILE)})"


def has_mark(text: str) -> str:
    """SQL: the text must not be wrapped."""
    return f"contains({text}, {quote_literal(_MARK)})"


def wrap_numbers(text: str) -> str:
    """Every number outside of strings as a marked string; the text has no mark yet."""
    pattern = rf'((?:[^0-9"\-]|{_STRING})*)(-?[0-9][0-9.eE+\-]*)?'
    replacement = rf'\1"\{_MARK}\2"'
    wrapped = f"regexp_replace({text}, {quote_literal(pattern)}, {quote_literal(replacement)}, 'g')"
    # The pattern also matches where no number follows: those marks are empty.
    return f"replace({wrapped}, {quote_literal(_PLACE)}, '')"


def unwrap_numbers(text: str) -> str:
    pattern = rf'"\{_MARK}([^"]+)"'
    return rf"regexp_replace({text}, {quote_literal(pattern)}, '\1', 'g')"


def exactly(text: str, change: Callable[[str], str]) -> str:
    """`change` applied to JSON text (a column), without a change to the spelling of numbers.

    `change` gets SQL of JSON text and returns SQL VARCHAR of JSON text, or NULL.
    """
    wrapped = f"list_transform([{wrap_numbers(text)}], lambda w: {change('w')})[1]"
    safe = f"{has_mark(text)} OR NOT {is_fragile(text)}"
    return f"CASE WHEN {safe} THEN {change(text)} ELSE {unwrap_numbers(wrapped)} END"


def exists(text: str, path: str) -> str:
    return f"json_exists({text}, {quote_literal(path)})"


def value_at(text: str, path: str) -> str:
    """SQL VARCHAR: the JSON text of a value, `null` for a null, NULL when it is not there."""

    def extracted(t: str) -> str:
        return f"CAST(json_extract({t}, {quote_literal(path)}) AS VARCHAR)"

    steps = pointer_steps(path)
    if any(not step or step.isdigit() for step in steps):
        return exactly(text, extracted)
    wanted: dict[str, object] = {steps[-1]: "JSON"}
    for step in reversed(steps[:-1]):
        wanted = {step: wanted}
    fields = "".join(f".{quote_identifier(step)}" for step in steps)
    # json_transform gives NULL for null and for nothing alike.
    return f"COALESCE(CAST({_transformed(text, wanted)}{fields} AS VARCHAR), {extracted(text)})"


def can_take(keys: list[str]) -> bool:
    """`take_members` knows how to deal with these keys: its structs ignore case."""
    return all(keys) and len({key.lower() for key in keys}) == len(keys)


def take_members(text: str, keys: list[str]) -> str:
    """An object of these top-level entries, in this order, without those that are null."""
    taken = _transformed(text, dict.fromkeys(keys, "JSON"))
    members = (member_text(key, f"CAST(t.{quote_identifier(key)} AS VARCHAR)") for key in keys)
    joined = f"concat_ws(',', {', '.join(members)})" if keys else "''"
    return f"list_transform([{taken}], lambda t: '{{' || {joined} || '}}')[1]"


def _transformed(text: str, wanted: dict[str, object]) -> str:
    # With a DECIMAL among the types json_transform takes all numbers as they are written.
    spec = json.dumps({**wanted, "\x01": "DECIMAL(1,0)"}, ensure_ascii=False)
    return f"json_transform({text}, {quote_literal(spec)})"


def put(text: str, path: str, value: str, *, present: bool | None = None) -> str:
    """Sets an entry, new or not. `value` is SQL of JSON text, never NULL.

    `present` says what is known of the entry: it is there, it is not, or None. Objects on the
    way are made; nothing changes when something else stands in the way.
    """
    top, key = _split(path)
    placed = _placed(text, path, value)
    if present is True and key is not None:
        return _replaced(text, key, value, placed)
    added = _added(text, path, value, placed)
    if key is None:
        return f"CASE WHEN NOT {exists(text, top)} THEN {added} ELSE {placed} END"
    if present is False:
        return added
    replaced = _replaced(text, key, value, placed)
    return f"CASE WHEN NOT {exists(text, path)} THEN {added} ELSE {replaced} END"


def remove(text: str, path: str, *, present: bool | None = None) -> str:
    """Without an entry, if it is there; `present` says that it is."""
    removed = exactly(text, lambda t: f"CAST(json_remove({t}, {quote_literal(path)}) AS VARCHAR)")
    _, key = _split(path)
    if key is not None and _is_simple(key):
        member = rf"{re.escape(json.dumps(key, ensure_ascii=False))}\s*:\s*{_PLAIN_VALUE}"
        pattern = quote_literal(rf",\s*{member}|{member}\s*,?\s*")
        cut = f"regexp_replace({text}, {pattern}, '')"
        removed = f"CASE WHEN {_is_plain(text, key)} THEN {cut} ELSE {removed} END"
    if present:
        return removed
    return f"CASE WHEN NOT {exists(text, path)} THEN {text} ELSE {removed} END"


def keep_members(text: str, condition: Callable[[str, str], str]) -> str:
    """Only the top-level entries for which a condition over SQL of key and value holds."""

    def change(t: str) -> str:
        pairs = f"list_zip(json_keys({t}), CAST(json_extract({t}, '$.*') AS VARCHAR[]))"
        kept = f"list_filter({pairs}, lambda m: {condition('m[1]', 'm[2]')})"
        member = "CAST(to_json(m[1]) AS VARCHAR) || ':' || m[2]"
        return f"'{{' || array_to_string(list_transform({kept}, lambda m: {member}), ',') || '}}'"

    return exactly(text, change)


def member_text(key: str, value: str) -> str:
    """SQL of `"key":value`; NULL when the value (SQL of JSON text) is NULL."""
    return f"{quote_literal(json.dumps(key, ensure_ascii=False) + ':')} || {value}"


def _split(path: str) -> tuple[str, str | None]:
    """The path of the top-level entry, and its key unless the path leads into it."""
    steps = path.split("/")
    return f"/{steps[1]}", pointer_steps(path)[0] if len(steps) == 2 else None


def _added(text: str, path: str, value: str, placed: str) -> str:
    """A top-level entry that was not there, at the end of the text."""
    steps = pointer_steps(path)
    for step in reversed(steps[1:]):
        value = f"'{{' || {member_text(step, value)} || '}}'"
    # Not after the brace of an empty object, nor after a comma, which DuckDB lets pass.
    ends_well = rf"regexp_matches({text}, '[\"\]}}0-9el]\}}$')"
    appended = f"left({text}, -1) || ',' || {member_text(steps[0], value)} || '}}'"
    return f"CASE WHEN {ends_well} THEN {appended} ELSE {placed} END"


def _replaced(text: str, key: str, value: str, placed: str) -> str:
    """A top-level entry that is there, with another value."""
    if not _is_simple(key):
        return placed
    quoted = re.escape(json.dumps(key, ensure_ascii=False))
    pattern = quote_literal(rf"({quoted}\s*:\s*){_PLAIN_VALUE}")
    # A backslash in a replacement stands for itself when doubled.
    replaced = rf"regexp_replace({text}, {pattern}, '\1' || replace({value}, '\', '\\'))"
    return f"CASE WHEN {_is_plain(text, key)} THEN {replaced} ELSE {placed} END"


def _is_simple(key: str) -> bool:
    """The key has one spelling in JSON, but for `\\u` escapes, which are looked for apart."""
    return not re.search(r'["\\/\x00-\x1f]', key)


def _is_plain(text: str, key: str) -> str:
    """SQL: the key, which is there, is found as text, and its value is no object or array.

    The key in quotes must occur once: it could be a value as well, or a key further inside.
    """
    quoted = json.dumps(key, ensure_ascii=False)
    pattern = quote_literal(rf"{re.escape(quoted)}\s*:\s*{_PLAIN_VALUE}")
    without = f"strlen(replace({text}, {quote_literal(quoted)}, ''))"
    once = f"strlen({text}) - {without} = {len(quoted.encode())}"
    return rf"NOT contains({text}, '\u') AND {once} AND regexp_matches({text}, {pattern})"


def _placed(text: str, path: str, value: str) -> str:
    """DuckDB finds the place; the value goes there as it is written."""

    def change(t: str) -> str:
        place = f"CAST({quote_literal(_PLACE)} AS JSON)"
        return f"CAST(json_set({t}, {quote_literal(path)}, {place}) AS VARCHAR)"

    as_json = f"CAST(json_set({text}, {quote_literal(path)}, CAST({value} AS JSON)) AS VARCHAR)"
    placed = f"replace({exactly(text, change)}, {quote_literal(_PLACE)}, {value})"
    return f"CASE WHEN {has_mark(text)} THEN {as_json} ELSE {placed} END"
