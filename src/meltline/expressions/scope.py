"""Where the names in an expression lead: pointers into the event, keys of the metadata."""

from __future__ import annotations

import re

from meltline.expressions import kinds
from meltline.expressions.kinds import describe_type
from meltline.expressions.operands import NULL, JsonOperand, Operand, typed
from meltline.expressions.quoting import quote_identifier, quote_list, quote_literal
from meltline.expressions.variants import json_sql
from meltline.model.event import BODY, META, ROW, Shape

_MARK = re.compile("\0([0-9]+)\0")


class Scope:
    """One expression being compiled for one shape.

    Pointers into a JSON body stand in the SQL as marks until `finish`, which knows how often the
    body is looked at: once, and it is looked at in place; more often, and all pointers are taken
    out of the body together, in one pass, and bound to the parameter `p` of a lambda.
    """

    def __init__(self, shape: Shape, salt: str) -> None:
        self.shape = shape
        self._salt = salt
        self._paths: list[str] = []
        self._uuids = 0

    def pointer(self, path: str) -> Operand:
        if self.shape.kind == "json":
            if path not in self._paths:
                self._paths.append(path)
            return JsonOperand(raw=f"\0{self._paths.index(path)}\0")
        steps = pointer_steps(path)
        type_ = self.shape.fields.get(steps[0])
        if type_ is None:
            return NULL
        column = f"{quote_identifier(ROW)}.{quote_identifier(steps[0])}"
        return resolve(column, type_, steps[1:])

    def metadata(self, key: str) -> Operand:
        """`a/b` goes into a struct or map; a slash in front does not count."""
        steps = [step for step in key.strip().removeprefix("/").split("/") if step]
        type_ = self.shape.metadata.get(steps[0]) if steps else None
        if type_ is None:
            return NULL
        return resolve(f"{META}.{quote_identifier(steps[0])}", type_, steps[1:])

    def unique_place(self) -> str:
        """Another text with every call, the same one whenever the pipeline is compiled."""
        self._uuids += 1
        return f"{self._salt}/{self._uuids}"

    def finish(self, sql: str) -> str:
        """The SQL without marks, over the columns of `events`."""
        mentions = len(_MARK.findall(sql))
        if mentions <= 1:
            return _MARK.sub(lambda mark: self._in_place(int(mark.group(1))), sql)
        used = sorted({int(number) for number in _MARK.findall(sql)})
        if len(used) == 1:
            bound = _MARK.sub("p", sql)
            return f"list_transform([{self._in_place(used[0])}], lambda p: {bound})[1]"
        bound = _MARK.sub(lambda mark: f"p[{used.index(int(mark.group(1))) + 1}]", sql)
        paths = quote_list([self._paths[number] for number in used])
        values = f"CAST(json_extract({BODY}, {paths}) AS VARCHAR[])"
        return f"list_transform([{values}], lambda p: {bound})[1]"

    def _in_place(self, number: int) -> str:
        return f"CAST(json_extract({BODY}, {quote_literal(self._paths[number])}) AS VARCHAR)"


def pointer_steps(path: str) -> list[str]:
    """The keys of a pointer, `~1` and `~0` resolved."""
    steps = path.removeprefix("/").split("/")
    return [step.replace("~1", "/").replace("~0", "~") for step in steps]


def resolve(sql: str, type_name: str, steps: list[str]) -> Operand:
    """A place inside a value of a known type; null where the type has no such place."""
    if not steps:
        return typed(sql, type_name)
    type_, step = describe_type(type_name), steps[0]
    if type_.kind == kinds.JSON:
        value = json_sql(sql, type_.name)
        path = "".join("/" + s.replace("~", "~0").replace("/", "~1") for s in steps)
        return JsonOperand(raw=f"CAST(json_extract({value}, {quote_literal(path)}) AS VARCHAR)")
    children = dict(type_.children)
    if type_.kind == kinds.STRUCT and step in children:
        return resolve(f"{sql}.{quote_identifier(step)}", children[step], steps[1:])
    if type_.kind == kinds.LIST and re.fullmatch("0|[1-9][0-9]{0,8}", step):
        return resolve(f"{sql}[{int(step) + 1}]", children["child"], steps[1:])
    if type_.kind == kinds.MAP and children["key"] == "VARCHAR":
        return resolve(f"{sql}[{quote_literal(step)}]", children["value"], steps[1:])
    return NULL
