"""A ledger that outlives the lanes of a test, as a file or a table outlives a process."""

from __future__ import annotations

from dataclasses import dataclass, field

from meltline.engine.ledger import LaneState, Owner
from meltline.engine.protocols import Blobs
from meltline.errors import Fenced, PositionLost


@dataclass
class MemoryBlobs:
    contents: dict[str, bytes] = field(default_factory=dict)

    def write(self, name: str, content: bytes) -> str:
        address = f"{name}-{len(self.contents)}"
        self.contents[address] = content
        return address

    def read(self, address: str) -> bytes:
        if address not in self.contents:
            raise PositionLost(f"a part of the recorded position is gone: {address}")
        return self.contents[address]


@dataclass
class MemoryLedger:
    """See engine.ledger.Ledger. States are kept as JSON: what does not survive that is lost.

    `as_seen_by` is the same ledger in another driver.
    """

    pipeline: str = "p"
    lanes: dict[str, str] = field(default_factory=dict)
    owners: list[Owner] = field(default_factory=list)
    blobs: Blobs = field(default_factory=MemoryBlobs)
    mine: Owner | None = None
    identity: str = "memory"

    def as_seen_by(self, owner: Owner) -> MemoryLedger:
        seen = MemoryLedger(self.pipeline, self.lanes, self.owners, self.blobs)
        seen.claim(owner)
        return seen

    def claim(self, owner: Owner) -> Owner | None:
        previous = self.owner()
        self.owners.append(owner)
        self.mine = owner
        return previous

    def owner(self) -> Owner | None:
        return self.owners[-1] if self.owners else None

    def load(self, lane: str) -> LaneState | None:
        text = self.lanes.get(lane)
        return None if text is None else LaneState.from_json(text, self.pipeline, lane)

    def save(self, lane: str, state: LaneState) -> None:
        if self.mine != self.owner():
            raise Fenced(f"pipeline {self.pipeline!r} was taken over by {self.owner()}")
        self.lanes[lane] = state.to_json()
