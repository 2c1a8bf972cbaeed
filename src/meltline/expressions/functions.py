"""The functions of the language: their names and what they take, checked when they are read."""

from __future__ import annotations

import difflib
import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, replace

from meltline.expressions.dates import check_output_pattern
from meltline.expressions.errors import ExpressionError
from meltline.expressions.syntax import PRODUCT, Binary, Call, Constant, Negate, Node, Pointer
from meltline.expressions.syntax import gives_boolean as _gives_boolean
from meltline.expressions.zones import parse_zone

POINTER = "a pointer such as /key"
STRING = "a text in double quotes"
TEXT = "a pointer, a text or a function"


def _network(text: str) -> None:
    ipaddress.ip_network(text.strip(), strict=False)


def _tag(text: str) -> None:
    if not text:
        raise ValueError("a tag cannot be empty")


@dataclass(frozen=True)
class Signature:
    """`parameters` in order; the last one may repeat when `repeats`. `required` counts from the
    left. `checks` look at the texts of the parameters of the same place."""

    parameters: tuple[str, ...] = ()
    required: int | None = None
    repeats: bool = False
    checks: tuple[Callable[[str], object] | None, ...] = ()

    @property
    def minimum(self) -> int:
        return len(self.parameters) if self.required is None else self.required


_TWO_TEXTS = Signature((TEXT, TEXT))
SIGNATURES = {
    "length": Signature((TEXT,)),
    "hasTags": Signature((STRING,), repeats=True, checks=(_tag,)),
    "getMetadata": Signature((STRING,)),
    "contains": _TWO_TEXTS,
    "startsWith": _TWO_TEXTS,
    "cidrContains": Signature((POINTER, STRING), repeats=True, checks=(None, _network)),
    "join": Signature((STRING, POINTER), required=1),
    "getEventType": Signature(),
    "generateUuid": Signature(),
    "now": Signature(),
    "formatDateTime": Signature(
        (POINTER, STRING, STRING, STRING),
        required=2,
        checks=(None, check_output_pattern, parse_zone, parse_zone),
    ),
    "toJsonString": Signature(),
    "substringAfter": _TWO_TEXTS,
    "substringAfterLast": _TWO_TEXTS,
    "substringBefore": _TWO_TEXTS,
    "substringBeforeLast": _TWO_TEXTS,
}


def check_name(name: str, text: str, position: int) -> None:
    if name in SIGNATURES:
        return
    by_lower = {known.lower(): known for known in SIGNATURES}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1)
    hint = f'did you mean "{by_lower[close[0]]}"?' if close else f"known: {', '.join(SIGNATURES)}"
    raise ExpressionError(f'unknown function "{name}"', text, position, hint=hint)


def check_call(call: Call, text: str) -> Call:
    """The call with its arguments brought into their final form, or ExpressionError."""
    signature, given = SIGNATURES[call.name], len(call.arguments)
    maximum = None if signature.repeats else len(signature.parameters)
    if given < signature.minimum or (maximum is not None and given > maximum):
        raise ExpressionError(
            f"{call.name}() takes {_count(signature, maximum)}, not {given}", text, call.position
        )
    parameters, checks = list(signature.parameters), list(signature.checks)
    if call.name == "join" and given == 1:
        parameters = [POINTER]
    arguments = []
    for place, argument in enumerate(call.arguments):
        parameter = parameters[min(place, len(parameters) - 1)]
        check = checks[min(place, len(checks) - 1)] if checks else None
        arguments.append(_argument(call.name, parameter, check, argument, text))
    return replace(call, arguments=tuple(arguments))


def _count(signature: Signature, maximum: int | None) -> str:
    minimum = signature.minimum
    if maximum == 0:
        return "no arguments"
    if maximum is not None and maximum != minimum:
        return f"{minimum} to {maximum} arguments"
    exactly = "at least " if maximum is None else ""
    return f"{exactly}{minimum} argument{'s' if minimum > 1 else ''}"


def _argument(
    name: str, parameter: str, check: Callable[[str], object] | None, node: Node, text: str
) -> Node:
    if parameter is POINTER and isinstance(node, Constant) and str(node.value).startswith("/"):
        # Inside a call a quoted pointer reads as a text; here only a pointer makes sense.
        node = Pointer(normalize_pointer(str(node.value)), node.position)
    if not _fits(parameter, node):
        raise ExpressionError(f"{name}() takes {parameter} here", text, node.position)
    if check is not None and isinstance(node, Constant):
        try:
            check(str(node.value))
        except ValueError as error:
            raise ExpressionError(f"{name}(): {error}", text, node.position) from None
    return node


def _fits(parameter: str, node: Node) -> bool:
    if parameter is POINTER:
        return isinstance(node, Pointer)
    if parameter is STRING:
        return isinstance(node, Constant) and isinstance(node.value, str)
    if isinstance(node, Constant):
        return isinstance(node.value, str)
    if isinstance(node, Binary) and node.operator in ("-", *PRODUCT):
        return False
    return not isinstance(node, Negate) and not _gives_boolean(node)


def normalize_pointer(path: str) -> str:
    """With a slash in front and, as in Data Prepper, without one at the end."""
    path = path if path.startswith("/") else f"/{path}"
    return path[:-1] if len(path) > 1 and path.endswith("/") else path
