"""A pipeline of fakes whose driver can be stopped and started again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from meltline.engine.crash import CrashPoint, no_crash
from meltline.engine.lane import EpochResult, Lane, LanePlan, RunTasks, SinkEnd
from meltline.engine.ledger import new_owner
from meltline.testing import (
    FakeClock,
    ListSource,
    MemoryLedger,
    MemoryLetters,
    MemorySink,
    run_here,
)


def bodies(start: int, end: int) -> list[str]:
    return [f'{{"n":{number}}}' for number in range(start, end)]


@dataclass
class World:
    """What outlives a driver: source, sinks, dead letters, ledger."""

    source: ListSource
    ends: tuple[SinkEnd, ...]
    letters: tuple[MemoryLetters, ...] = ()
    source_letters: str | None = None
    drop_undecodable: bool = False
    routes: tuple[tuple[str, str], ...] = ()
    parallelism: int = 2
    config: str = ""
    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    clock: FakeClock = field(default_factory=FakeClock)

    def start(self, crash: CrashPoint = no_crash, run_tasks: RunTasks = run_here) -> Lane:
        """A new driver, which takes over from the one before."""
        owner = new_owner()
        plan = LanePlan("p", "l", self.source, self.ends, (), self.routes, self.letters,
                        self.source_letters, self.drop_undecodable, self.parallelism, self.config)
        lane = Lane(plan, self.ledger.as_seen_by(owner), owner, run_tasks, self.clock, crash)
        lane.start()
        return lane

    def run(self, crash: CrashPoint = no_crash, run_tasks: RunTasks = run_here
            ) -> Sequence[EpochResult]:
        """A new driver, until the source has nothing more."""
        lane = self.start(crash, run_tasks)
        results = []
        while (result := lane.run_epoch()) is not None:
            results.append(result)
        return results


def world(count: int = 25, *sinks: MemorySink, **changes: Any) -> World:
    """A source of so many events, and these sinks or one."""
    ends = tuple(SinkEnd(sink) for sink in sinks or (MemorySink(),))
    return World(**{"source": ListSource(bodies(0, count)), "ends": ends, **changes})


def sinks(of: World) -> list[Any]:
    return [end.sink for end in of.ends]
