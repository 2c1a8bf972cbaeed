"""What a sink promises in the driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from meltline.engine.epoch import Epoch
from meltline.engine.token import Token
from meltline.engine.work import LetterWriter, SinkWriter


@dataclass(frozen=True)
class Published:
    """What one publish did. `repeated`: an earlier try had done it already. `keys` are those whose
    earlier rows were to go, from `key_files` of the workers."""

    table: str
    snapshot_id: int | None
    repeated: bool = False
    conflicts: int = 0
    files: int = 0
    rows: int = 0
    manifest_bytes: int = 0
    seconds: float = 0.0
    keys: int = 0
    key_files: int = 0


class Sink(Protocol):
    name: str

    def check(self) -> None:
        """At start: raises UserError for what cannot work."""

    def token(self, pipeline: str, lane: str) -> Token | None:
        """The newest token of the lane that the sink remembers, if it remembers any."""

    def find(self, epoch: Epoch) -> Published | None:
        """The epoch, if it was published already. Raises Fenced when the sink is ahead of it."""

    def writer(self, epoch: Epoch) -> SinkWriter:
        """What the workers get. May be asked again for the same epoch, after `settle`."""

    def settle(self, guess: Any) -> bool:
        """The workers met fields the sink has no place for: make one. True: something changed.

        The epoch is written again either way: somebody else may have been faster."""

    def publish(self, epoch: Epoch, reports: Sequence[str], owner: str) -> Sequence[Published]:
        """Each table atomic, idempotent, fenced. Reports are those of the workers' `finish`."""


class Letters(Protocol):
    """A dead-letter target in the driver. Equal keys mean the same place."""

    @property
    def key(self) -> str: ...

    def check(self) -> None: ...

    def token(self, pipeline: str, lane: str) -> Token | None: ...

    def find(self, epoch: Epoch) -> bool:
        """Whether letters of the epoch are published. May be slow: only asked in doubt."""

    def writer(self, epoch: Epoch) -> LetterWriter: ...

    def publish(self, epoch: Epoch, reports: Sequence[str], owner: str) -> Published: ...
