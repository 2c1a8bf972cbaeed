"""The tree of an expression. `position` is for messages and does not count in comparisons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class Constant:
    value: bool | int | float | str | None
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Pointer:
    """`path` starts with `/` and has no slash at its end; `~1` and `~0` stand for `/` and `~`."""

    path: str
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Not:
    operand: Node
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Negate:
    operand: Node
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Binary:
    """`operator` is one of `and or == != =~ !~ < <= > >= + - * / %`."""

    operator: str
    left: Node
    right: Node
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Membership:
    """`in` and `not in`: all members are numbers, or all texts, or all booleans."""

    operand: Node
    members: tuple[bool | int | float | str, ...]
    negated: bool
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class TypeOf:
    pointer: Pointer
    type_name: str
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple[Node, ...]
    position: int = field(default=0, compare=False)


Node: TypeAlias = Constant | Pointer | Not | Negate | Binary | Membership | TypeOf | Call

LOGIC = ("and", "or")
EQUALITY = ("==", "!=")
REGEX = ("=~", "!~")
RELATION = ("<", "<=", ">", ">=")
SUM = ("+", "-")
PRODUCT = ("*", "/", "%")
TYPE_NAMES = ("integer", "long", "double", "boolean", "string", "map", "array", "big_decimal")


def gives_boolean(node: Node) -> bool:
    """True when the node's value is a boolean whatever the event holds."""
    if isinstance(node, Constant):
        return isinstance(node.value, bool)
    if isinstance(node, Binary):
        return node.operator in LOGIC + EQUALITY + REGEX + RELATION
    return isinstance(node, (Not, Membership, TypeOf))
