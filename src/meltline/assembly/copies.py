"""Whether a table is a copy of a source's table: what it holds is the source's rows and no others.

Only then may rows that the source does not have be deleted from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from meltline.assembly.catalogs import Catalogs
from meltline.config.pipeline import PipelineBlock
from meltline.config.sink_iceberg import IcebergSink as IcebergBlock
from meltline.expressions import fixed_by
from meltline.sinks.iceberg.source_fields import SourceFields
from meltline.sinks.iceberg.summary import TOKEN, token_key
from meltline.sources.iceberg.copy_table import Copy, FindCopy, Follows, NoCopy

_TABLE, _OPERATION = "iceberg_table_name", "iceberg_operation"


@dataclass(frozen=True)
class CopyName:
    """The one table that rows of a source's table go to."""

    table: str
    sink: IcebergBlock


def copy_name(block: PipelineBlock, table: str) -> CopyName | NoCopy:
    """Of the source's table of this name. Pure: whether it exists is another question."""
    sink = block.sink[0].iceberg if len(block.sink) == 1 else None
    if sink is None:
        return NoCopy("the pipeline has another sink than one of the kind iceberg")
    if block.processor:
        return NoCopy("processors change the rows")
    if block.routes or sink.routes:
        return NoCopy("routes choose among the rows")
    name = fixed_by(sink.table_identifier or "", {_TABLE: table})
    if not name:
        return NoCopy("the rows go to several tables, or say themselves to which one")
    if fixed_by(sink.operation or "", {_OPERATION: "word"}) != "word":
        return NoCopy(f'operation of the sink is not ${{getMetadata("{_OPERATION}")}}')
    others = block.source.iceberg.tables if block.source.iceberg else ()
    if any(fixed_by(sink.table_identifier or "", {_TABLE: other.table_name}) == name
           for other in others if other.table_name != table):
        return NoCopy(f"several tables of the source go to {name}")
    return CopyName(name, sink)


def copy_finder(
    pipeline: str, block: PipelineBlock, table: str, catalogs: Catalogs
) -> FindCopy:
    """What the lane of a table is given. Tables and what they hold are looked up when asked."""
    named = copy_name(block, table)

    def find() -> Copy | NoCopy | None:
        if isinstance(named, NoCopy):
            return named
        found = catalogs.find(named.sink.catalog).load(named.table)
        if found is None:
            return None
        strangers = [key for key in found.properties
                     if key.startswith(TOKEN) and key != token_key(pipeline, table)]
        if strangers:
            return NoCopy(f"table {named.table} holds rows of others too "
                          f"({min(strangers).removeprefix(TOKEN)})")
        memory = SourceFields.load(found.properties) if named.sink.schema_evolution else None
        follows = None if memory is None else Follows(memory.table, memory.fields)
        return Copy(found, named.sink.identifier_columns, named.sink.branch,
                    named.sink.case_insensitive, follows)

    return find
