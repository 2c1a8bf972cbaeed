"""Row lineage of Iceberg: the columns in which a file may say what its rows are."""

from __future__ import annotations

from pyiceberg.types import LongType, NestedField

SINCE = 3
"""The format version that has it."""
ROW_ID, LAST_UPDATED = "_row_id", "_last_updated_sequence_number"
ROW_ID_FIELD, LAST_UPDATED_FIELD = 2147483540, 2147483539
LINEAGE = (NestedField(ROW_ID_FIELD, ROW_ID, LongType(), required=False),
           NestedField(LAST_UPDATED_FIELD, LAST_UPDATED, LongType(), required=False))
