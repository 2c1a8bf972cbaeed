"""A dead-letter target that keeps what is published."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from meltline.engine.epoch import Epoch
from meltline.engine.sink import Published
from meltline.engine.token import Token
from meltline.engine.work import TaskPlace


@dataclass
class MemoryLetters:
    """See engine.sink.Letters. One list of letters per epoch, however often it is published."""

    key: str = "letters"
    journal: list[str] = field(default_factory=list)
    published: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def letters(self) -> list[dict[str, Any]]:
        return [letter for _, some in sorted(self.published.items()) for letter in some]

    def check(self) -> None:
        """Always fine."""

    def token(self, pipeline: str, lane: str) -> Token | None:  # noqa: ARG002
        return None

    def find(self, epoch: Epoch) -> bool:
        return epoch.number in self.published

    def writer(self, epoch: Epoch) -> MemoryLetterWriter:  # noqa: ARG002
        return MemoryLetterWriter()

    def publish(self, epoch: Epoch, reports: Sequence[str], owner: str) -> Published:  # noqa: ARG002
        letters = [letter for report in reports for letter in json.loads(report)]
        repeated = epoch.number in self.published
        self.published[epoch.number] = letters
        self.journal.append(self.key)
        return Published(self.key, None, repeated, files=len(reports), rows=len(letters))


@dataclass(frozen=True)
class MemoryLetterWriter:
    def open(self, place: TaskPlace) -> OpenMemoryLetters:  # noqa: ARG002
        return OpenMemoryLetters()


@dataclass
class OpenMemoryLetters:
    letters: list[dict[str, Any]] = field(default_factory=list)

    def add(self, letters: pa.Table) -> None:
        self.letters += letters.to_pylist()

    def finish(self) -> Sequence[str]:
        return (json.dumps(self.letters, default=str),) if self.letters else ()
