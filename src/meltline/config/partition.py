"""Partition transforms: which exist, and which type of column each one takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

from meltline.config.iceberg_type import (
    DecimalType,
    FixedType,
    IcebergType,
    PrimitiveType,
)
from meltline.config.refused import Refused
from meltline.config.scalars import InWords
from meltline.config.suggest import choice_hint

FORMS = ("identity", "year", "month", "day", "hour", "bucket[n]", "truncate[n]", "void")
TIME_TRANSFORMS = frozenset({"year", "month", "day", "hour"})

_TEXT = re.compile(r"([a-z]+)(?:\[(\d{1,9})\])?")
_TIMESTAMPS = frozenset({"timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"})
_BUCKETED = frozenset({"int", "long", "date", "time", "string", "uuid", "binary"}) | _TIMESTAMPS
_TAKES = {
    "year": _TIMESTAMPS | {"date"},
    "month": _TIMESTAMPS | {"date"},
    "day": _TIMESTAMPS | {"date"},
    "hour": _TIMESTAMPS,
    "bucket": _BUCKETED | {"decimal", "fixed"},
    "truncate": frozenset({"int", "long", "string", "binary", "decimal"}),
}


@dataclass(frozen=True)
class Transform:
    """`argument` is the number of buckets or the width; other transforms have none."""

    name: str
    argument: int | None = None

    def takes(self, type_: IcebergType) -> bool:
        """Whether a column of this type can be partitioned so."""
        kind = _kind(type_)
        return kind is not None and (self.name not in _TAKES or kind in _TAKES[self.name])


def _kind(type_: IcebergType) -> str | None:
    if isinstance(type_, PrimitiveType):
        return type_.name
    if isinstance(type_, DecimalType):
        return "decimal"
    return "fixed" if isinstance(type_, FixedType) else None


def parse_transform(text: str) -> Transform:
    """`day`, `bucket[16]`, ... Raises Refused, with the valid transforms."""
    match = _TEXT.fullmatch(re.sub(r"\s", "", text).lower())
    name = match[1] if match else ""
    if not match or name not in {form.partition("[")[0] for form in FORMS}:
        hint = choice_hint(text, FORMS, "transforms")
        raise Refused(f'"{text}" is not a partition transform', hint=hint)
    argument = int(match[2]) if match[2] else None
    if name in ("bucket", "truncate"):
        if not argument:
            raise Refused(f'"{text}" needs a number above 0', hint=f"write {name}[16]")
    elif match[2]:
        raise Refused(f'"{text}" takes no number', hint=f"write {name}")
    return Transform(name, argument)


def _check_transform(text: str) -> str:
    parse_transform(text)
    return text


TransformText = Annotated[
    str,
    AfterValidator(_check_transform),
    InWords("one of " + ", ".join(f"`{form}`" for form in FORMS)),
]
