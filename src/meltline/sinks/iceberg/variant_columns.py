"""Columns of the type variant, and who may write to them. Pure."""

from __future__ import annotations

from meltline.errors import UserError
from meltline.model.columns import columns
from meltline.model.target import TableTarget
from meltline.model.variant import VariantType


def refuse_variants(target: TableTarget) -> None:
    """For events that hold no variants: numbers of JSON would lose digits on the way to one."""
    for column in columns(target.schema.as_struct()):
        if isinstance(column.type, VariantType):
            raise UserError(
                f'column "{column.path}" of table {target.table} has the type variant, which only '
                f"the variants of a source iceberg can be written to",
                hint="write to a table in which the column is a string, a struct, a list or a map")
