"""Variants in expressions: the JSON they stand for, as documents have it.

The function that spells it belongs to the connections of the workers (kernels/variant_text.py).
"""

from __future__ import annotations

VARIANT = "VARIANT"
VARIANT_TEXT = "meltline_variant_text"
STAND_IN = f"CREATE MACRO {VARIANT_TEXT}(variant, text) AS text"
"""For a connection that only tries whether SQL is accepted."""


def variant_text_sql(source: str) -> str:
    """SQL: VARCHAR; NULL for null, the text `null` for the variant null. Equal variants have equal
    texts, however they are encoded: the keys of objects are in order."""
    # tried: timestamps that are too far away for DuckDB are spelled by the function alone
    return f"{VARIANT_TEXT}({source}, TRY(({source})::JSON::VARCHAR))"


def json_sql(source: str, type_name: str) -> str:
    """SQL: JSON, of a value of the type JSON or VARIANT."""
    return f"CAST({variant_text_sql(source)} AS JSON)" if type_name == VARIANT else source
