"""Blobs in memory, which count how often they are read."""

from __future__ import annotations

from meltline.errors import PositionLost


class MemoryBlobs:
    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.reads = 0

    def write(self, name: str, content: bytes) -> str:
        address = f"memory:{name}-{len(self.held)}"
        self.held[address] = content
        return address

    def read(self, address: str) -> bytes:
        self.reads += 1
        if address not in self.held:
            raise PositionLost(f"{address} is gone")
        return self.held[address]
