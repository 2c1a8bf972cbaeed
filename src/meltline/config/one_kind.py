"""Blocks in which exactly one key is named: the kind of source, sink, codec, ledger, ..."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, model_validator
from typing_extensions import Self

from meltline.config.refused import Refused
from meltline.config.strict import Strict


class OneKind(Strict):
    """Every field is optional and one of them is set. `files:` with nothing after it is `{}`."""

    @model_validator(mode="before")
    @classmethod
    def _empty_block(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        return {key: {} if block is None else block for key, block in value.items()}

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        named = self._named()
        if len(named) == 1:
            return self
        kinds = ", ".join(_key(type(self), name) for name in type(self).model_fields)
        hint = f"name exactly one of: {kinds}"
        if not named:
            raise Refused("nothing is named here", hint=hint)
        raise Refused(f"{' and '.join(named)} are named together", hint=hint)

    def _named(self) -> dict[str, BaseModel]:
        fields = type(self).model_fields
        blocks = {_key(type(self), name): getattr(self, name) for name in fields}
        return {key: block for key, block in blocks.items() if block is not None}

    @property
    def kind(self) -> str:
        """The key that was named, as written in YAML."""
        return next(iter(self._named()))

    @property
    def chosen(self) -> BaseModel:
        """The block under that key."""
        return next(iter(self._named().values()))


def _key(model: type[BaseModel], name: str) -> str:
    return model.model_fields[name].alias or name
