"""Iceberg's type `variant`, which pyiceberg has not: a value of any type, told by itself."""

from __future__ import annotations

from typing import Literal

from pyiceberg.typedef import TableVersion
from pyiceberg.types import PrimitiveType


class VariantType(PrimitiveType):
    root: Literal["variant"] = "variant"

    def minimum_format_version(self) -> TableVersion:
        return 3
