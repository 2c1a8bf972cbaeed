"""A source that reads a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from meltline.engine.protocols import Blobs
from meltline.model.event import BAD, BODY, META, ORD, Shape, json_shape
from meltline.model.plan import Plan, Position, Split

_META = pa.struct({"place": pa.int64()})


@dataclass
class ListSource:
    """Bodies of JSON events, `per_epoch` of them at a time. More may be appended while it runs.

    An event's metadata is its `place` in the list.
    """

    bodies: list[str]
    per_epoch: int = 10
    per_chunk: int = 4
    forgotten: list[Position] = field(default_factory=list)

    def plan(self, after: Position | None, blobs: Blobs) -> Plan | None:  # noqa: ARG002
        start = 0 if after is None else int(after.data["next"])
        end = min(start + self.per_epoch, len(self.bodies))
        if start == end:
            return None
        waiting = len(self.bodies) - end
        return Plan({"from": start, "to": end}, Position({"next": end}), waiting,
                    {"events": f"{start}-{end}"})

    def splits(self, plan: Plan, parallelism: int, blobs: Blobs) -> Sequence[Split]:  # noqa: ARG002
        start, end = int(plan.data["from"]), int(plan.data["to"])
        step = -(-(end - start) // parallelism)
        return [Split({"from": place, "to": min(place + step, end)})
                for place in range(start, end, step)]

    def reader(self) -> ListReader:
        return ListReader(tuple(self.bodies), self.per_chunk)

    def forget(self, upto: Position) -> None:
        self.forgotten.append(upto)

    def lag(self, after: Position | None, blobs: Blobs) -> int | None:  # noqa: ARG002
        return len(self.bodies) - (0 if after is None else int(after.data["next"]))


@dataclass
class ListReader:
    bodies: tuple[str, ...]
    per_chunk: int
    skipped_files: int = 0

    def shape(self) -> Shape:
        return json_shape(place="BIGINT")

    def open(self, split: Split) -> Iterator[tuple[Shape, pa.Table]]:
        start, end = int(split.data["from"]), int(split.data["to"])
        for first in range(start, end, self.per_chunk):
            places = range(first, min(first + self.per_chunk, end))
            yield self.shape(), pa.table({
                BODY: pa.array([self.bodies[place] for place in places], pa.string()),
                META: pa.array([{"place": place} for place in places], _META),
                ORD: pa.array(places, pa.int64()),
                BAD: pa.nulls(len(places), pa.string())})

    def line_numbers(self, split: Split, ords: Sequence[int]) -> list[int]:  # noqa: ARG002
        return list(ords)
