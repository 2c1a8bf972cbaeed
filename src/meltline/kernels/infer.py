"""What type a field has, judged by its values. Pure, but for the one SQL statement's text.

A guess is a name (`long`, `string`, ...), `{"struct": {name: guess}}`, `{"list": guess}`, or
`null` when only nulls and empty containers were seen. The outermost one of a source that carries
types says so: `"typed": true`, and `"nulls": [path]` for required columns that it has null in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, ListType, StructType

from meltline.kernels.arrow_schema import is_variant

Guess = Any
NULL = "null"
TYPED = "typed"
NULLS = "nulls"
# HUGEINT is what DuckDB makes of negative and positive numbers in one list
_NAMES = {"BOOLEAN": "boolean", "BIGINT": "long", "UBIGINT": "long", "HUGEINT": "long",
          "DOUBLE": "double", "NULL": NULL}
_DECIMAL = re.compile(r"decimal\((\d+), (\d+)\)")
_NO_FIELDS: Guess = {"struct": {}}
DEEPEST = 6
"""Levels of nesting that become columns. The conversion of deeper types costs DuckDB minutes."""


@dataclass(frozen=True)
class Addition:
    """A column that a table lacks. `parent` is the dotted path of the struct it belongs in."""

    parent: str | None
    name: str
    guess: Guess


def keys_sql(events: str) -> str:
    return f"SELECT DISTINCT unnest(json_keys(body)) AS name FROM {events}"


def guess_structures(structures: Iterable[str]) -> Guess:
    """From the texts of DuckDB's json_structure. What is no object is no event and says nothing."""
    result: Guess = NULL
    for text in structures:
        if text.startswith("{") or text == '"JSON"':
            result = merge(result, _of_structure(json.loads(text)))
    return result


def merge(one: Guess, other: Guess) -> Guess:
    """A type that takes both: numbers widen to double, what does not fit together is a string."""
    if one == other or other == NULL:
        return one
    if one == NULL:
        return other
    if isinstance(one, dict) and isinstance(other, dict):
        if "list" in one and "list" in other:
            return {"list": merge(one["list"], other["list"])}
        if "struct" in one and "struct" in other:
            names = {**one["struct"], **other["struct"]}
            return {"struct": {name: merge(one["struct"].get(name, NULL),
                                           other["struct"].get(name, NULL)) for name in names},
                    **_both_typed(one, other)}
    if {str(one), str(other)} <= {"long", "double", "int", "float"}:
        return "double" if "double" in (one, other) or "float" in (one, other) else "long"
    return _wider_decimal(str(one), str(other)) or "string"


def _both_typed(one: Guess, other: Guess) -> Guess:
    """What carries no types makes the whole a mere guess."""
    if not (one.get(TYPED) and other.get(TYPED)):
        return {}
    nulls = sorted({*one.get(NULLS, ()), *other.get(NULLS, ())})
    return {TYPED: True, **({NULLS: nulls} if nulls else {})}


def _wider_decimal(one: str, other: str) -> str | None:
    found = [_DECIMAL.fullmatch(text) for text in (one, other)]
    if found[0] and found[1] and found[0][2] == found[1][2]:
        return max(one, other, key=lambda text: int(text[8:].partition(",")[0]))
    return None


def additions(schema: Schema, guess: Guess) -> list[Addition]:
    """What a table lacks of these fields. Fields known to be null or empty are not added yet."""
    if not isinstance(guess, dict) or "struct" not in guess:
        return []
    return list(_lacking(schema.as_struct(), guess["struct"], None))


def _lacking(
    struct: StructType, guesses: Mapping[str, Guess], parent: str | None
) -> Iterable[Addition]:
    known = {field.name: field.field_type for field in struct.fields}
    for name, guess in guesses.items():
        path = name if parent is None else f"{parent}.{name}"
        if name not in known:
            if guess not in (NULL, _NO_FIELDS) and name:
                yield Addition(parent, name, guess)
        else:
            yield from _inside(known[name], guess, path)


def _inside(type_: IcebergType, guess: Guess, path: str) -> Iterable[Addition]:
    if not isinstance(guess, dict):
        return
    if isinstance(type_, StructType) and "struct" in guess:
        yield from _lacking(type_, guess["struct"], path)
    elif isinstance(type_, ListType) and "list" in guess:
        yield from _inside(type_.element_type, guess["list"], f"{path}.element")


def iceberg_type(guess: Guess) -> Any:
    """Iceberg's JSON form of a type, with ids that are unique but not final."""
    return _Ids().type_of(guess)


def iceberg_schema(guess: Guess) -> str:
    """A table schema for these fields, all optional."""
    fields = _Ids().fields_of(guess["struct"])
    return json.dumps({"type": "struct", "schema-id": 0, "fields": fields})


class _Ids:
    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        self._last += 1
        return self._last

    def type_of(self, guess: Guess) -> Any:
        if isinstance(guess, dict) and guess.get("struct"):
            return {"type": "struct", "fields": self.fields_of(guess["struct"])}
        if isinstance(guess, dict) and guess.get("list", NULL) != NULL:
            return {"type": "list", "element-id": self.next(), "element-required": False,
                    "element": self.type_of(guess["list"])}
        # nulls, empty lists and empty objects say nothing: text takes whatever comes later
        return guess if isinstance(guess, str) and guess != NULL else "string"

    def fields_of(self, guesses: Mapping[str, Guess]) -> list[dict[str, Any]]:
        named = [(self.next(), name, guess) for name, guess in guesses.items() if name]
        return [{"id": id_, "name": name, "required": False, "type": self.type_of(guess)}
                for id_, name, guess in named]


def _nameable(name: str) -> bool:
    """Iceberg takes no empty name, and SQL none with the character NUL."""
    return bool(name) and "\0" not in name


def _of_structure(structure: Any, in_list: bool = False, depth: int = 0) -> Guess:
    """`JSON` stands for an object without fields, and in lists also for items that differ."""
    if isinstance(structure, dict | list) and depth > DEEPEST:
        return "string"
    if isinstance(structure, dict):
        return {"struct": {name: _of_structure(inner, in_list, depth + 1)
                           for name, inner in structure.items() if _nameable(name)}}
    if isinstance(structure, list):
        inner = _of_structure(structure[0], True, depth + 1)
        return NULL if inner == NULL else {"list": inner}
    if structure == "JSON" and not in_list:
        return _NO_FIELDS
    return _NAMES.get(structure, "string")


def guess_arrow(type_: pa.DataType) -> Guess:
    """From the type of a typed event."""
    if pa.types.is_struct(type_):
        return {"struct": {field.name: _guess_field(field) for field in type_}}
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return {"list": _guess_field(type_.value_field)}
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision}, {type_.scale})"
    if pa.types.is_timestamp(type_):
        # never the nanosecond types: a table of format version 2 cannot have them
        return "timestamptz" if type_.tz else "timestamp"
    return _arrow_scalar(type_)


def _guess_field(field: pa.Field) -> Guess:
    # the text of a variant: a table of format version 2 cannot have the type
    return "string" if is_variant(field) else guess_arrow(field.type)


def _arrow_scalar(type_: pa.DataType) -> Guess:
    checks = (
        (pa.types.is_boolean, "boolean"), (pa.types.is_int64, "long"), (pa.types.is_uint32, "long"),
        (pa.types.is_integer, "int"), (pa.types.is_float64, "double"),
        (pa.types.is_floating, "float"), (pa.types.is_date, "date"), (pa.types.is_time, "time"),
        (pa.types.is_binary, "binary"), (pa.types.is_large_binary, "binary"),
        (pa.types.is_fixed_size_binary, "binary"), (pa.types.is_null, NULL))
    if pa.types.is_uint64(type_):
        return "decimal(20, 0)"
    return next((name for check, name in checks if check(type_)), "string")
