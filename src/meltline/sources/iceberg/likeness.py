"""What a copy of a table looks like at one of its snapshots. Pure."""

from __future__ import annotations

from meltline.model.history import TableHistory
from meltline.model.table_like import TableLike, fitting_spec, with_identifiers
from meltline.model.table_view import TableView, parse_schema


def like_of(history: TableHistory, view: TableView) -> TableLike:
    """The schema is the snapshot's own. The partition spec is the newest, if that fits: snapshots
    do not say which one they were made under, and no row depends on it."""
    newest = parse_schema(history.schemas[history.current_schema_id], view.table)
    return TableLike(
        schema_json=with_identifiers(view.schema_json, view.identifiers),
        spec_json=fitting_spec(view.schema_json, history.specs[history.default_spec_id]),
        format_version=history.format_version,
        uuid=history.uuid,
        identifiers=tuple(field.name for field in view.identifier_fields),
        living=frozenset(newest.field_ids))
