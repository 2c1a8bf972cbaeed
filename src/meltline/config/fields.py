"""What the models say about a place: its keys, its valid values, its type in plain words."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from inspect import isclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo

from meltline.config.place import DocPath
from meltline.config.scalars import InWords

_WORDS: dict[Any, str] = {
    str: "text",
    bool: "true or false",
    int: "whole number",
    float: "number",
    timedelta: "duration",
    dict: "map",
    list: "list",
    Any: "anything",
    object: "anything",
}


def keys(field: FieldInfo, name: str) -> list[str]:
    """The keys under which a field may be written, the usual one first."""
    if isinstance(field.validation_alias, AliasChoices):
        return [str(choice) for choice in field.validation_alias.choices]
    return [field.alias or name]


def model_keys(model: type[BaseModel]) -> list[str]:
    return [key for name, field in model.model_fields.items() for key in keys(field, name)]


def options(annotation: Any) -> Iterator[Any]:
    """The members of a union, without None and without what `Annotated` adds."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from options(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from options(member)
    elif annotation is not type(None):
        yield annotation


def models(annotation: Any) -> list[type[BaseModel]]:
    """The blocks that may stand at a place, looking through lists."""
    found: list[type[BaseModel]] = []
    for option in options(annotation):
        if isclass(option) and issubclass(option, BaseModel):
            found.append(option)
        elif is_list(option):
            found += models(get_args(option)[0])
    return found


def annotations_at(model: type[BaseModel], path: DocPath) -> list[Any]:
    """The types that may stand at a path below a model.

    A part of the path that no type knows is skipped: validation names the members of a union.
    """
    here: list[Any] = [model]
    for part in path:
        here = [child for option in here for child in _children(option, part)] or here
    return [option for annotation in here for option in options(annotation)]


def _children(annotation: Any, part: str | int) -> Iterator[Any]:
    for option in options(annotation):
        if isclass(option) and issubclass(option, BaseModel):
            for name, field in option.model_fields.items():
                if part in keys(field, name):
                    yield field.annotation
        elif isinstance(part, int) and is_list(option):
            yield get_args(option)[0]
        elif isinstance(part, str) and _is_map(option):
            yield get_args(option)[1]


def description_at(model: type[BaseModel], path: DocPath) -> str | None:
    """What the model says about the key at the end of a path."""
    for option in annotations_at(model, path[:-1]):
        if isclass(option) and issubclass(option, BaseModel):
            for name, field in option.model_fields.items():
                if path[-1] in keys(field, name):
                    return field.description
    return None


def valid_keys(model: type[BaseModel], path: DocPath) -> list[str]:
    found = [key for option in annotations_at(model, path) for key in _keys_of(option)]
    return list(dict.fromkeys(found))


def _keys_of(option: Any) -> list[str]:
    return model_keys(option) if isclass(option) and issubclass(option, BaseModel) else []


def valid_values(model: type[BaseModel], path: DocPath) -> list[str]:
    """The words of a `Literal` at a path, or nothing."""
    found = annotations_at(model, path)
    return [
        str(word) for option in found if get_origin(option) is Literal for word in get_args(option)
    ]


def type_words(annotation: Any, metadata: Iterable[Any] = ()) -> str:
    """A type as a person would say it: `list of texts`, `one of a, b`, `block`."""
    for extra in metadata:
        if isinstance(extra, InWords):
            return extra.words
    origin = get_origin(annotation)
    if origin is Annotated:
        return type_words(get_args(annotation)[0], get_args(annotation)[1:])
    if origin in (Union, types.UnionType):
        members = [member for member in get_args(annotation) if member is not type(None)]
        return " or ".join(dict.fromkeys(type_words(member) for member in members))
    if origin is Literal:
        return "one of " + ", ".join(f"`{word}`" for word in get_args(annotation))
    if is_list(annotation):
        return f"list of {_plural(type_words(get_args(annotation)[0]))}"
    if _is_map(annotation):
        return f"map of {_plural(type_words(get_args(annotation)[1]))}"
    if isclass(annotation) and issubclass(annotation, BaseModel):
        return "block"
    return _WORDS.get(annotation, "text")


def _plural(words: str) -> str:
    return words if " " in words or words == "anything" else f"{words}s"


def is_list(annotation: Any) -> bool:
    return get_origin(annotation) in (list, tuple, Sequence)


def _is_map(annotation: Any) -> bool:
    return get_origin(annotation) in (dict, Mapping)
