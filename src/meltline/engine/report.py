"""What the tasks of an epoch report, and their sum. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from meltline.kernels.infer import NULL, merge

SAMPLES = 5


@dataclass(frozen=True)
class SinkReport:
    """`rejected` events are not among the `rows`. `guess` is set when the schema must change.
    `deleted` keys had or may have had earlier rows."""

    rows: int = 0
    rejected: int = 0
    samples: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    guess: Any = None
    deleted: int = 0


@dataclass(frozen=True)
class TaskReport:
    """One task's outcome. `letters` maps a dead-letter target to the files written for it."""

    shard: int
    read: int = 0
    size: int = 0
    undecodable: int = 0
    unrouted: int = 0
    skipped: int = 0
    duplicates: int = 0
    sinks: tuple[SinkReport, ...] = ()
    letters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    samples: tuple[str, ...] = ()
    peak_rss: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> TaskReport:
        body = json.loads(text)
        body["sinks"] = tuple(
            SinkReport(**{**sink, "samples": tuple(sink["samples"]), "files": tuple(sink["files"])})
            for sink in body["sinks"])
        body["letters"] = {key: tuple(files) for key, files in body["letters"].items()}
        return cls(**{**body, "samples": tuple(body["samples"])})


def total(reports: Iterable[TaskReport], sinks: int) -> TaskReport:
    """The sum over all tasks, in the order of the shards."""
    ordered = sorted(reports, key=lambda report: report.shard)
    letters: dict[str, tuple[str, ...]] = {}
    for report in ordered:
        for key, files in report.letters.items():
            letters[key] = letters.get(key, ()) + tuple(files)
    return TaskReport(
        shard=-1,
        read=sum(r.read for r in ordered),
        size=sum(r.size for r in ordered),
        undecodable=sum(r.undecodable for r in ordered),
        unrouted=sum(r.unrouted for r in ordered),
        skipped=sum(r.skipped for r in ordered),
        duplicates=sum(r.duplicates for r in ordered),
        sinks=tuple(_sum(r.sinks[i] for r in ordered) for i in range(sinks)),
        letters=letters,
        samples=tuple(s for r in ordered for s in r.samples)[:SAMPLES],
        peak_rss=max((r.peak_rss for r in ordered), default=0),
    )


def _sum(reports: Iterable[SinkReport]) -> SinkReport:
    rows = rejected = deleted = 0
    samples: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    guess: Any = NULL
    for report in reports:
        rows += report.rows
        rejected += report.rejected
        deleted += report.deleted
        samples += report.samples
        files += report.files
        guess = merge(guess, NULL if report.guess is None else report.guess)
    return SinkReport(rows, rejected, samples[:SAMPLES], files,
                      None if guess == NULL else guess, deleted)
