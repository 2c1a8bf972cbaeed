"""Routes: names for conditions on events, declared once per pipeline and used by its sinks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from meltline.config.properties import FrozenMap
from meltline.config.refused import Refused, type_found
from meltline.config.scalars import InWords
from meltline.expressions import ExpressionError, check_condition

DEFAULT_ROUTE = "_default"
"""Takes the events that matched no route of the pipeline. Never declared."""

_SHAPE = "write each route as - name: 'expression'"


def read_routes(value: object) -> Mapping[str, str]:
    """Data Prepper's list of one-key maps as one map, in order. Raises Refused."""
    if isinstance(value, FrozenMap):
        return value
    if not isinstance(value, list | tuple):
        raise Refused(f"expected a list, found {type_found(value)}", hint=_SHAPE)
    routes: dict[str, str] = {}
    for index, entry in enumerate(value):
        if not isinstance(entry, Mapping):
            raise Refused(f"expected a map, found {type_found(entry)}", hint=_SHAPE, at=(index,))
        if len(entry) != 1:
            what = f"expected one route in this entry, found {len(entry)}"
            raise Refused(what, hint=_SHAPE, at=(index,))
        ((name, expression),) = entry.items()
        _check_route(name, expression, routes, (index, name))
        routes[name] = expression
    return routes


def _check_route(
    name: str, expression: object, earlier: Mapping[str, str], at: tuple[str | int, ...]
) -> None:
    if name == DEFAULT_ROUTE:
        hint = "it takes the events of no route by itself; name it in a sink's routes"
        raise Refused(f'the route name "{DEFAULT_ROUTE}" is reserved', hint=hint, at=at)
    if name in earlier:
        raise Refused(f'route "{name}" is there twice', at=at)
    if not isinstance(expression, str):
        raise Refused(f"expected an expression, found {type_found(expression)}", hint=_SHAPE, at=at)
    try:
        check_condition(expression)
    except ExpressionError as error:
        raise Refused(error.what, hint=error.hint, at=at) from None


Routes = Annotated[
    Mapping[str, str],
    BeforeValidator(read_routes),
    AfterValidator(FrozenMap),
    InWords("list of `name: expression`"),
]
