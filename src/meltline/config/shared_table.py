"""Whether two sinks of a pipeline may write to the same table."""

from __future__ import annotations

from meltline.config.sink_iceberg import IcebergSink


def shared_table(one: IcebergSink, other: IcebergSink) -> str | None:
    """A table, or the beginning of a table's name, that both sinks may write to."""
    for name in one.names:
        if name in other.names:
            return name
    if one.dynamic and other.dynamic:
        first, second = (_beginning(sink) for sink in (one, other))
        if first.startswith(second) or second.startswith(first):
            return f"{max(first, second, key=len)}*"
    return None


def _beginning(sink: IcebergSink) -> str:
    """What is sure of a dynamic table's name."""
    return (sink.table_identifier or "").partition("${")[0]
