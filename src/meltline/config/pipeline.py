"""One pipeline: a source, processors, routes and sinks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import AliasChoices, Field, model_validator
from typing_extensions import Self

from meltline.config.dlq import DlqBlock
from meltline.config.ledger import IcebergLedger, LedgerBlock
from meltline.config.one_kind import OneKind
from meltline.config.processors import ProcessorBlock
from meltline.config.properties import FrozenMap
from meltline.config.refused import Refused
from meltline.config.routes import DEFAULT_ROUTE, Routes
from meltline.config.shared_table import shared_table
from meltline.config.sink_file import FileSink
from meltline.config.sink_iceberg import IcebergSink, OnError
from meltline.config.source_files import FilesSource
from meltline.config.source_iceberg import IcebergSource
from meltline.config.strict import Strict
from meltline.config.suggest import choice_hint


class SourceBlock(OneKind):
    """Exactly one source."""

    files: FilesSource | None = Field(
        default=None, description="Files on local disk or in an object store."
    )
    iceberg: IcebergSource | None = Field(
        default=None, description="Iceberg tables: their rows, then their changes."
    )


class SinkBlock(OneKind):
    """Exactly one sink per entry of the list."""

    iceberg: IcebergSink | None = Field(default=None, description="An Iceberg table.")
    file: FileSink | None = Field(default=None, description="Files of JSON lines.")


class PipelineBlock(Strict):
    """One pipeline of a file."""

    source: SourceBlock = Field(description="Where events come from: exactly one kind of source.")
    processor: tuple[ProcessorBlock, ...] = Field(
        default=(), description="What is done to every event, in order."
    )
    routes: Routes = Field(
        default=FrozenMap(),
        validation_alias=AliasChoices("routes", "route"),
        description="Named conditions that sinks choose by. `route` is accepted as well.",
    )
    sink: tuple[SinkBlock, ...] = Field(
        min_length=1, description="Where events go: a list, one kind of sink per entry."
    )
    dlq: DlqBlock | None = Field(
        default=None,
        description="Where rejected events go: those that cannot be decoded, and those of every "
        "sink without a `dlq` of its own.",
    )
    on_error: OnError = Field(
        default="fail",
        description="What events that cannot be decoded do when there is no `dlq`: fail the "
        "epoch, or be dropped and counted. Also the default of the sinks.",
    )
    ledger: LedgerBlock = Field(
        default_factory=lambda: LedgerBlock(iceberg=IcebergLedger()),
        description="Where the pipeline remembers how far it came.",
    )
    on_failure: Literal["retry", "stop"] = Field(
        default="retry",
        description="What a failure that may pass does (a store that does not answer, a commit "
        "that cannot get through): try the epoch again, ever more slowly, or stop. With `--once` "
        "it is tried again five times at most.",
    )
    workers: Any = Field(
        default=None,
        description="Accepted for compatibility with Data Prepper. Has no effect: Spark decides.",
    )
    delay: Any = Field(
        default=None,
        description="Accepted for compatibility with Data Prepper. Has no effect: "
        "`commit_interval` paces the pipeline.",
    )
    buffer: Any = Field(
        default=None,
        description="Accepted for compatibility with Data Prepper. Has no effect: there is no "
        "buffer to lose events from.",
    )

    @model_validator(mode="before")
    @classmethod
    def _one_spelling(cls, value: object) -> object:
        if isinstance(value, Mapping) and "route" in value and "routes" in value:
            hint = "keep routes; route is another name for it"
            raise Refused("route and routes are given together", hint=hint, at=("route",))
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for index, sink in enumerate(self.sink):
            chosen = sink.iceberg or sink.file
            if chosen is not None:
                self._check_routes(chosen, sink.kind, index)
            if sink.iceberg is not None:
                self._check_table(sink.iceberg, index)
        return self

    def _check_routes(self, sink: IcebergSink | FileSink, kind: str, index: int) -> None:
        for number, name in enumerate(sink.routes):
            if name not in self.routes and name != DEFAULT_ROUTE:
                raise Refused(
                    f'route "{name}" is not declared in this pipeline',
                    hint=choice_hint(name, [*self.routes, DEFAULT_ROUTE], "routes"),
                    at=("sink", index, kind, "routes", number),
                )

    def _check_table(self, sink: IcebergSink, index: int) -> None:
        """A batch is known in a table by pipeline and epoch: what a second sink writes there would
        be taken for the first one's and skipped."""
        place = ("sink", index, "iceberg")
        others = [(f"sink[{number}]", block.iceberg)
                  for number, block in enumerate(self.sink[:index]) if block.iceberg]
        for label, other in others:
            if other.catalog == sink.catalog and (shared := shared_table(sink, other)):
                hint = "give one sink both routes, or write to two tables"
                if sink.dynamic or other.dynamic:
                    hint = "begin the two table names with different namespaces"
                raise Refused(f"{label} writes to {shared} already", hint=hint,
                              at=(*place, sink.table_key))
        dlq = self.dlq_of(sink)
        letters = dlq.iceberg if dlq else None
        if (letters and (letters.catalog or sink.catalog) == sink.catalog
                and letters.table_identifier in sink.names):
            what = f"rejected events would go to {letters.table_identifier}, which rejected them"
            own = (*place, "dlq") if sink.dlq else ("dlq",)
            raise Refused(what, hint="name another table", at=(*own, "iceberg", "table_identifier"))

    def dlq_of(self, sink: IcebergSink) -> DlqBlock | None:
        """Where a sink's rejected events go."""
        return sink.dlq or self.dlq

    def on_error_of(self, sink: IcebergSink) -> OnError:
        """What a sink's rejected events do when there is no DLQ."""
        return sink.on_error if "on_error" in sink.model_fields_set else self.on_error
