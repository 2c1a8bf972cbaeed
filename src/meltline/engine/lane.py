"""One lane: an independent stream of a pipeline, epoch after epoch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from meltline.config.processors import ProcessorBlock
from meltline.engine.crash import CrashPoint, no_crash
from meltline.engine.epoch import Epoch
from meltline.engine.ledger import LaneState, Ledger, Owner
from meltline.engine.protocols import Source
from meltline.engine.replay import changed, check_together, differ, has_part, holders
from meltline.engine.report import TaskReport, total
from meltline.engine.sink import Letters, Published, Sink
from meltline.engine.token import recovered
from meltline.engine.work import Match, SinkPart, TaskPlace, TaskWork
from meltline.errors import EventsRejected, PlanLost, RunError

log = logging.getLogger("meltline.lane")

RunTasks = Callable[[Sequence[TaskWork], str], list[TaskReport]]
"""Runs the tasks wherever Spark likes and returns one report each. Raises Retryable."""

SETTLE_TRIES = 5


@dataclass(frozen=True)
class SinkEnd:
    """A sink with what the pipeline says about it. `letters` is the key of a Letters, `match` one
    more condition on the events it takes."""

    sink: Sink
    routes: tuple[str, ...] = ()
    letters: str | None = None
    drop: bool = False
    match: Match | None = None


@dataclass(frozen=True)
class LanePlan:
    """Everything a lane is made of. Does not change while it runs.

    `config` is the digest of the configuration, empty when nobody asks.
    """

    pipeline: str
    name: str
    source: Source
    sinks: tuple[SinkEnd, ...]
    processors: tuple[ProcessorBlock, ...] = ()
    routes: tuple[tuple[str, str], ...] = ()
    letters: tuple[Letters, ...] = ()
    source_letters: str | None = None
    drop_undecodable: bool = False
    parallelism: int = 1
    config: str = ""


@dataclass(frozen=True)
class EpochResult:
    epoch: Epoch
    report: TaskReport
    published: tuple[Published, ...] = ()
    waiting: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)


@dataclass
class Lane:
    """`run_epoch` is the whole protocol. A failed call changes nothing that the next one needs."""

    plan: LanePlan
    ledger: Ledger
    owner: Owner
    run_tasks: RunTasks
    now_ms: Callable[[], int]
    crash: CrashPoint = no_crash
    state: LaneState = field(default_factory=LaneState)

    def start(self) -> None:
        """Load the state; where the tables know more than the ledger, they are right."""
        plan = self.plan
        remembering: Sequence[Sink | Letters] = (*(e.sink for e in plan.sinks), *plan.letters)
        tokens = [token for one in remembering if (token := one.token(plan.pipeline, plan.name))]
        known = self.ledger.load(plan.name)
        self.state = recovered(known, tokens, plan.pipeline, plan.name,
                               self.ledger.identity) or LaneState()

    def run_epoch(self) -> EpochResult | None:
        """The next epoch from plan to done, or None when the source has nothing."""
        waiting = 0
        if self.state.pending is None:
            planned = self._plan_next()
            if planned is None:
                return None
            waiting = planned
        epoch = self.state.pending
        if epoch is None:
            raise RunError("no epoch is pending after planning")
        done = {i: found for i, end in enumerate(self.plan.sinks)
                if (found := end.sink.find(epoch)) is not None}
        epoch = self._adopt(epoch, done)
        try:
            report = self._write(epoch, done)
        except PlanLost as lost:
            epoch = self._plan_anew(epoch, done, lost)
            report = self._write(epoch, done)
        self.crash("write")
        published = self._publish(epoch, report, done)
        self.crash("publish")
        snapshots = {p.table: p.snapshot_id for p in published if p.snapshot_id is not None}
        self._save(self.state.done(snapshots, self.now_ms()))
        self.crash("done")
        self.plan.source.forget(epoch.plan.end)
        names = [end.sink.name for i, end in enumerate(self.plan.sinks) if i not in done]
        rejected = {name: one.rejected for name, one in zip(names, report.sinks, strict=False)}
        return EpochResult(epoch, report, tuple(published), waiting, rejected)

    def _plan_next(self) -> int | None:
        """Record the next plan; returns how much waits behind it, or None without a plan."""
        plan = self.plan.source.plan(self.state.position, self.ledger.blobs)
        if plan is None:
            return None
        plan = replace(plan, start=self.state.position)
        self.crash("plan")
        epoch = Epoch(self.plan.pipeline, self.plan.name, self.state.epoch + 1, plan,
                      self.now_ms(), self.plan.parallelism, self.ledger.identity,
                      self.plan.config)
        self._save(self.state.recorded(epoch, self.now_ms()))
        self.crash("record")
        return plan.waiting

    def _plan_anew(self, epoch: Epoch, found: Mapping[int, Published], lost: PlanLost) -> Epoch:
        """What was planned is gone: where nobody has any of it, the position decides again.

        The number stays: should another driver still publish the old plan, the table holds another
        epoch of this number, and this one stops."""
        sinks = [end.sink for end in self.plan.sinks]
        if (found or any(has_part(epoch, sink) for sink in sinks)
                or any(letters.find(epoch) for letters in self.plan.letters)):
            raise lost
        log.warning("recorded epoch is planned anew", extra={
            "pipeline": epoch.pipeline, "lane": epoch.lane, "epoch": epoch.number,
            "reason": lost.what})
        plan = self.plan.source.plan(self.state.position, self.ledger.blobs)
        if plan is None:
            raise lost
        fresh = replace(epoch, plan=replace(plan, start=self.state.position),
                        planned_at_ms=self.now_ms(), parallelism=self.plan.parallelism,
                        config=self.plan.config)
        self._save(self.state.recorded(fresh, self.now_ms()))
        return fresh

    def _save(self, state: LaneState) -> None:
        self.ledger.save(self.plan.name, state)
        self.state = state

    def _adopt(self, epoch: Epoch, found: Mapping[int, Published]) -> Epoch:
        """The epoch, recorded as one of this configuration. Raises ConfigurationChanged when part
        of it was made by another one and part is still to be made."""
        lacking = [end.sink.name for i, end in enumerate(self.plan.sinks) if i not in found]
        if not lacking:
            return epoch
        tables = [self.plan.sinks[i].sink for i in found]
        if differ(epoch.config, self.plan.config):
            # a sink of many tables may hold a part of the epoch
            tables += [end.sink for i, end in enumerate(self.plan.sinks)
                       if i not in found and has_part(epoch, end.sink)]
        if holding := holders(epoch, self.plan.config, tables, self.plan.letters):
            raise changed(epoch, holding, lacking)
        if differ(epoch.config, self.plan.config):
            log.info("recorded epoch runs with a changed configuration", extra={
                "pipeline": epoch.pipeline, "lane": epoch.lane, "epoch": epoch.number})
            epoch = replace(epoch, config=self.plan.config)
            self._save(self.state.recorded(epoch, self.now_ms()))
        return epoch

    def _write(self, epoch: Epoch, found: Mapping[int, Published]) -> TaskReport:
        """Write what is not published yet, again when a sink had to make room for new fields."""
        left = [i for i in range(len(self.plan.sinks)) if i not in found]
        if not left:
            return TaskReport(-1)
        for _ in range(SETTLE_TRIES):
            report = self._run(epoch, left)
            wanting = [(self.plan.sinks[i].sink, done.guess)
                       for i, done in zip(left, report.sinks, strict=True) if done.guess]
            if not wanting:
                self._check_rejects(report, left)
                return report
            # what was written lacks these events, also when somebody else has made the room
            for sink, guess in wanting:
                sink.settle(guess)
        raise RunError(f"the schema of {wanting[0][0].name} does not settle: the events hold new "
                       f"fields each time they are read")

    def _run(self, epoch: Epoch, left: Sequence[int]) -> TaskReport:
        # before the sinks are asked: what the source read last is what they look like
        splits = self.plan.source.splits(epoch.plan, epoch.parallelism, self.ledger.blobs)
        if not splits:
            return total([], len(left))
        ends = [self.plan.sinks[i] for i in left]
        parts = tuple(SinkPart(end.sink.name, end.routes, end.sink.writer(epoch), end.letters,
                               end.match) for end in ends)
        letters = tuple((one.key, one.writer(epoch)) for one in self.plan.letters)
        reader = self.plan.source.reader()
        works = [TaskWork(
            TaskPlace(epoch.pipeline, epoch.lane, epoch.number, epoch.planned_at_ms, shard, ""),
            split, reader, self.plan.processors, self.plan.routes, parts, letters,
            self.plan.source_letters) for shard, split in enumerate(splits)]
        return total(self.run_tasks(works, epoch.label), len(parts))

    def _check_rejects(self, report: TaskReport, left: Sequence[int]) -> None:
        plan = self.plan
        if report.undecodable and plan.source_letters is None and not plan.drop_undecodable:
            raise _rejected("the source", report.undecodable, report.samples)
        for i, done in zip(left, report.sinks, strict=True):
            end = plan.sinks[i]
            if done.rejected and end.letters is None and not end.drop:
                raise _rejected(f"table {end.sink.name}", done.rejected, done.samples)

    def _publish(
        self, epoch: Epoch, report: TaskReport, found: Mapping[int, Published]
    ) -> list[Published]:
        """Letters first: once any table is published, all letters of the epoch are."""
        published: list[tuple[Sink | Letters, Published]] = []
        if not found:
            for one in self.plan.letters:
                if files := report.letters.get(one.key):
                    published.append((one, one.publish(epoch, files, str(self.owner))))
                    self.crash("publish.letters")
        left = [end.sink for i, end in enumerate(self.plan.sinks) if i not in found]
        work = [(sink, done.files) for sink, done in zip(left, report.sinks, strict=False)
                if done.files]
        with ThreadPoolExecutor(max_workers=max(len(work), 1)) as pool:
            commits = [pool.submit(sink.publish, epoch, files, str(self.owner))
                       for sink, files in work]
            for (sink, _), commit in zip(work, commits, strict=True):
                published += [(sink, done) for done in commit.result()]
                self.crash("publish.table")
        check_together(epoch, published)
        return [*found.values(), *(done for _, done in published)]


def _rejected(where: str, count: int, samples: Sequence[str]) -> EventsRejected:
    reasons = "".join(f"\n   - {sample}" for sample in dict.fromkeys(samples))
    return EventsRejected(
        f"{count} event{'s' if count != 1 else ''} refused by {where}, and no dlq is configured; "
        f"nothing of this epoch was published. First reasons:{reasons}",
        hint="set dlq in the sink or the pipeline to keep such events aside, "
             "or on_error: drop to let them go")
