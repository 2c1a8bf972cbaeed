"""Maps of settings that are passed on as they are: catalog, storage, table and Spark settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from meltline.config.refused import Refused, type_found
from meltline.config.scalars import InWords


class FrozenMap(Mapping[str, str]):
    """A map of texts that cannot be changed, in order. Can be pickled, unlike a mapping proxy."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[str, str] | None = None) -> None:
        self._entries = dict(entries or {})

    def __getitem__(self, key: str) -> str:
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))

    def __repr__(self) -> str:
        return repr(self._entries)


class Properties(FrozenMap):
    """Settings of another program, secrets among them: `repr` shows keys only."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{key}: ***" for key in self._entries) + "}"


def property_text(key: str, value: object) -> str:
    """A YAML scalar as the text it was written as: `true`, `5`, `1.10`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    hint = 'give it a value, "" for an empty one' if value is None else None
    raise Refused(f"expected text, found {type_found(value)}", hint=hint, at=(key,))


def read_properties(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    return {str(key): property_text(str(key), entry) for key, entry in value.items()}


PropertyMap = Annotated[
    Mapping[str, str],
    BeforeValidator(read_properties),
    AfterValidator(Properties),
    InWords("map of texts"),
]
