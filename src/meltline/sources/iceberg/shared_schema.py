"""A source and its copy in the same columns, so that their rows can be compared. Pure.

Columns belong together by name: a copy has field ids of its own. Where one side has the wider type
both are read in it, so that no value is cut off. A column that the copy lacks is null there, as it
will be once it is added. Columns that only the copy has are left out: no event speaks of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from meltline.kernels.spelling import spell_as
from meltline.model.columns import columns
from meltline.model.schema_text import load_schema

FIRST_ABSENT_ID = 1 << 30
"""Ids for columns that the copy lacks: no file of it has them, nor will have them soon."""
_WIDER = {frozenset(("int", "long")): "long", frozenset(("float", "double")): "double"}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")

Json = dict[str, Any]


class Unlike(Exception):
    """The rows cannot be compared; the text says why, for people."""


@dataclass(frozen=True)
class SharedSchema:
    """The same columns twice, as Iceberg's JSON: by the field ids of the source, and of the copy.

    The keys are the field ids of the columns that tell rows apart. Everything is optional: what
    one table requires the other may lack.
    """

    source: str
    copy: str
    source_keys: tuple[int, ...]
    copy_keys: tuple[int, ...]


def share(
    source_json: str, copy_json: str, keys: Sequence[str], any_case: bool = False
) -> SharedSchema:
    """`keys` are columns of the copy; without any, its identifier fields. Raises Unlike."""
    copy = json.loads(copy_json)
    names = list(keys) or _identifiers(copy)
    if not names:
        raise Unlike("nothing says which columns identify a row of the target")
    pair = _Pair(any_case)
    source_fields, copy_fields = pair.fields(json.loads(source_json)["fields"], copy["fields"], "")
    together = {theirs["name"]: (ours["id"], theirs["id"])
                for ours, theirs in zip(source_fields, copy_fields, strict=True)
                if theirs["id"] < FIRST_ABSENT_ID}
    for name in names:
        if _spelled(name, list(together), any_case) not in together:
            raise Unlike(f'identifier column "{name}" is not in both tables')
    ids = [together[_spelled(name, list(together), any_case)] for name in names]
    # what is read is called as in the source, whatever the copy calls it
    renamed = [{**theirs, "name": ours["name"]}
               for ours, theirs in zip(source_fields, copy_fields, strict=True)]
    return SharedSchema(_schema(source_fields), _schema(renamed), tuple(one for one, _ in ids),
                        tuple(other for _, other in ids))


def keys_in(copy_json: str, keys: Sequence[str], any_case: bool) -> tuple[str, ...]:
    """These columns as the copy spells them; none when it lacks one."""
    names = [field["name"] for field in json.loads(copy_json)["fields"]]
    spelled = tuple(_spelled(key, names, any_case) for key in keys)
    return spelled if set(spelled) <= set(names) else ()


def check_names(source_json: str, copy_json: str, fields: Mapping[int, str]) -> None:
    """Raises Unlike when a name does not mean the same in both: the copy follows renamed and
    dropped columns before rows are written to it, and values compared by name would be others."""
    ours, theirs = (columns(load_schema(text).as_struct())
                    for text in (source_json, copy_json))
    there = {column.path for column in theirs}
    for column in ours:
        path = column.path
        known = column.fixed or column.id in fields
        if fields.get(column.id, path) != path or (not known and path in there):
            raise Unlike(f'column "{path}" was renamed or made anew since the copy last followed '
                         f"its source")


def _identifiers(schema: Mapping[str, Any]) -> list[str]:
    ids = schema.get("identifier-field-ids", ())
    return [field["name"] for field in schema["fields"] if field["id"] in ids]


def _spelled(name: str, names: Sequence[str], any_case: bool) -> str:
    return spell_as(name, names) if any_case else name


def _schema(fields: Sequence[Json]) -> str:
    return json.dumps({"type": "struct", "schema-id": 0, "fields": list(fields)})


class _Pair:
    """Walks two types side by side. Each method gives the source's part and the copy's."""

    def __init__(self, any_case: bool) -> None:
        self._any_case = any_case
        self._absent = count(FIRST_ABSENT_ID)

    def fields(
        self, ours: Sequence[Json], theirs: Sequence[Json], path: str
    ) -> tuple[list[Json], list[Json]]:
        by_name = {field["name"]: field for field in theirs}
        pairs = list(self._each(ours, by_name, path))
        return [one for one, _ in pairs], [other for _, other in pairs]

    def _each(
        self, ours: Sequence[Json], by_name: Mapping[str, Json], path: str
    ) -> Iterator[tuple[Json, Json]]:
        for field in ours:
            found = by_name.get(_spelled(field["name"], list(by_name), self._any_case))
            if found is None:
                yield _optional(field, field["type"]), self._lacking(field)
                continue
            mine, other = self.types(field["type"], found["type"], path + field["name"])
            yield _optional(field, mine), _optional(found, other)

    def types(self, ours: Any, theirs: Any, path: str) -> tuple[Any, Any]:
        kinds = [one["type"] if isinstance(one, dict) else "value" for one in (ours, theirs)]
        if kinds == ["struct", "struct"]:
            mine, other = self.fields(ours["fields"], theirs["fields"], f"{path}.")
            # inside of a column names are the source's too: rows are compared as they are
            other = [{**two, "name": one["name"]} for one, two in zip(mine, other, strict=True)]
            return {"type": "struct", "fields": mine}, {"type": "struct", "fields": other}
        if kinds == ["list", "list"]:
            inner = self.types(ours["element"], theirs["element"], f"{path}.element")
            return _list(ours, inner[0]), _list(theirs, inner[1])
        if kinds == ["map", "map"]:
            keys = self.types(ours["key"], theirs["key"], f"{path}.key")
            values = self.types(ours["value"], theirs["value"], f"{path}.value")
            return _map(ours, keys[0], values[0]), _map(theirs, keys[1], values[1])
        if kinds != ["value", "value"] or (wide := _wider(ours, theirs)) is None:
            raise Unlike(f'column "{path}" has types that cannot be compared: {_word(ours)} in the '
                         f"source, {_word(theirs)} in the target")
        return wide, wide

    def _lacking(self, field: Json) -> Json:
        return {"id": next(self._absent), "name": field["name"], "required": False,
                "type": self._renumbered(field["type"])}

    def _renumbered(self, type_: Any) -> Any:
        if not isinstance(type_, dict):
            return type_
        if type_["type"] == "struct":
            return {"type": "struct", "fields": [self._lacking(field)
                                                 for field in type_["fields"]]}
        if type_["type"] == "list":
            return _list({"element-id": next(self._absent)}, self._renumbered(type_["element"]))
        ids = {"key-id": next(self._absent), "value-id": next(self._absent)}
        return _map(ids, self._renumbered(type_["key"]), self._renumbered(type_["value"]))


def _optional(field: Json, type_: Any) -> Json:
    kept: Json = {key: field[key] for key in ("id", "name", "initial-default") if key in field}
    return {**kept, "required": False, "type": _all_optional(type_)}


def _all_optional(type_: Any) -> Any:
    if not isinstance(type_, dict):
        return type_
    if type_["type"] == "struct":
        return {"type": "struct", "fields": [_optional(field, field["type"])
                                             for field in type_["fields"]]}
    if type_["type"] == "list":
        return _list(type_, _all_optional(type_["element"]))
    return _map(type_, _all_optional(type_["key"]), _all_optional(type_["value"]))


def _list(like: Json, element: Any) -> Json:
    return {"type": "list", "element-id": like["element-id"], "element-required": False,
            "element": element}


def _map(like: Json, key: Any, value: Any) -> Json:
    return {"type": "map", "key-id": like["key-id"], "key": key, "value-id": like["value-id"],
            "value-required": False, "value": value}


def _wider(one: str, other: str) -> str | None:
    """The type that holds the values of both."""
    if one == other:
        return one
    if (wide := _WIDER.get(frozenset((one, other)))) is not None:
        return wide
    first, second = _DECIMAL.fullmatch(one), _DECIMAL.fullmatch(other)
    if first and second and first[2] == second[2]:
        return one if int(first[1]) > int(second[1]) else other
    return None


def _word(type_: Any) -> str:
    return str(type_["type"] if isinstance(type_, dict) else type_)
