"""The id of a document, from the values of its identifier columns: injective and stable, as SQL.

Values are joined by `-`. Within values `\\` becomes `\\\\`, and `-` becomes `\\-` when there are
several columns; null is `\\N`, an empty text that stands alone is `\\E`, and an id of more than 512
bytes is `\\#` and its SHA-256.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.types import BinaryType, FixedType, IcebergType, NestedField

from meltline.expressions.quoting import quote_identifier
from meltline.kernels.value_text import value_text

LONGEST = 512


def document_id_sql(fields: Sequence[NestedField], prefix: str = "") -> str:
    """SQL over columns of these names. `prefix` is `row.` for columns of a struct."""
    several = len(fields) > 1
    parts = [_part(prefix + quote_identifier(f.name), f.field_type, several) for f in fields]
    joined = " || '-' || ".join(parts)
    bound = (f"CASE WHEN strlen(d) > {LONGEST} THEN '\\#' || sha256(d) "
             f"WHEN d = '' THEN '\\E' ELSE d END")
    return f"list_transform([{joined}], lambda d: {bound})[1]"


def _part(source: str, type_: IcebergType, several: bool) -> str:
    text = value_text(source, type_)
    if not isinstance(type_, BinaryType | FixedType):
        text = f"replace({text}, '\\', '\\\\')"
    if several:
        text = f"replace({text}, '-', '\\-')"
    return f"coalesce({text}, '\\N')"
