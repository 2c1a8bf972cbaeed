"""A copy follows its source: columns, identifier fields and partition spec, in one commit."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from meltline.lake.evolution import Evolution, SchemaSteps, SpecSteps, evolve_table
from meltline.lake.spec import partition_columns
from meltline.lake.table import Table
from meltline.model.schema_text import load_schema
from meltline.model.table_like import TableLike
from meltline.model.target import TableTarget
from meltline.sinks.iceberg.follow_fields import follow_fields
from meltline.sinks.iceberg.follow_spec import follow_spec
from meltline.sinks.iceberg.pairing import pair
from meltline.sinks.iceberg.source_fields import SourceFields, is_shared, parts


def follow_source(table: Table, like: TableLike, own_token: str) -> bool:
    """Before rows that look like `like` are written. Leaves a table alone that was not made as a
    copy of that source, or that others write to. A second call finds nothing to do. `own_token`
    is the key of the lane's token. True when the table was changed."""

    def find() -> Evolution | None:
        properties = table.properties
        known = SourceFields.load(properties)
        if known is None or known.table != like.uuid or is_shared(properties, own_token):
            return None
        return plan_evolution(known, table.target(), like, partition_columns(table))

    return evolve_table(table, find)


def plan_evolution(
    known: SourceFields, target: TableTarget, like: TableLike, cut: Collection[int] = ()
) -> Evolution | None:
    """What is left to do; None when that is nothing. Raises UserError when the copy cannot
    follow. `cut` are the columns (ids) that any partition spec of the copy speaks of. Pure."""
    want = load_schema(like.schema_json)
    pairing = pair(known, target.schema, want, like.living, cut)
    schema = follow_fields(known, target.schema, want, pairing)
    spec = parts(like.spec_json)
    steps = follow_spec(target.spec, None if spec == known.spec else spec, pairing)
    now = replace(known, last=max(known.last, want.highest_field_id), fields=pairing.remembered(),
                  identifiers=tuple(sorted(want.identifier_field_ids)),
                  spec=known.spec if spec is None else spec)
    if now == known and schema == SchemaSteps() and steps == SpecSteps():
        return None
    return Evolution(schema, steps, now.properties())
