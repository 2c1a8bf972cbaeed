"""A pipeline file as a running application: one Spark session, its pipelines' lanes."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from meltline.assembly.catalogs import Catalogs, catalogs_of, connectors_of
from meltline.assembly.pipeline import PipelineParts, assemble, find_ledger, open_ledger
from meltline.config.file import PipelineFile
from meltline.config.pipeline import PipelineBlock
from meltline.engine.crash import CrashPoint, crash_from_environment
from meltline.engine.lane import Lane
from meltline.engine.ledger import new_owner
from meltline.engine.runner import LaneRunner, Listener, run_lanes
from meltline.errors import MeltlineError
from meltline.lake.jvm import Jvm
from meltline.observe.status import LaneStatus, lane_status
from meltline.spark.jobs import SparkJobs
from meltline.spark.session import SparkSettings, start_session

log = logging.getLogger("meltline.run")


class Application:
    """Use within `opened`. `base` is what relative paths in the file are relative to."""

    def __init__(
        self, pipelines: Mapping[str, PipelineBlock], jvm: Jvm, jobs: SparkJobs, base: Path
    ) -> None:
        self._pipelines = pipelines
        self._base = base
        self.jobs = jobs
        self._catalogs = Catalogs(jvm, base)

    def close(self) -> None:
        self._catalogs.close()

    def run(self, listener: Listener, stop: threading.Event, once: bool) -> list[BaseException]:
        """Run every pipeline until it ends or `stop` is set; returns what failed."""
        return run_lanes(self.runners(listener, once, crash_from_environment()), stop)

    def runners(self, listener: Listener, once: bool, crash: CrashPoint) -> list[LaneRunner]:
        """Check every pipeline and claim its ledger: from here on this driver is the owner."""
        ready = [(assemble(name, block, self._catalogs, self._base, self.jobs.parallelism,
                           self.jobs), block)
                 for name, block in self._pipelines.items()]
        for parts, _ in ready:
            parts.check()
        runners: list[LaneRunner] = []
        for parts, block in ready:
            runners += self._runners(parts, block, listener, once, crash)
        return runners

    def status(self) -> list[LaneStatus]:
        """What the ledgers say. Claims nothing, creates nothing."""
        found = []
        for name, block in self._pipelines.items():
            ledger = find_ledger(name, block, self._catalogs, self._base)
            parts = assemble(name, block, self._catalogs, self._base, 1, self.jobs)
            for lane in parts.lanes:
                state = owner = lag = None
                if ledger is not None:
                    state, owner = ledger.load(lane.name), ledger.owner()
                    position = state.position if state else None
                    try:
                        lag = lane.source.lag(position, ledger.blobs)
                    except MeltlineError:
                        lag = None
                found.append(lane_status(name, lane.name, state, owner, lag))
        return found

    def _runners(
        self, parts: PipelineParts, block: PipelineBlock, listener: Listener, once: bool,
        crash: CrashPoint,
    ) -> list[LaneRunner]:
        ledger = open_ledger(parts.name, block, self._catalogs, self._base)
        owner = new_owner()
        previous = ledger.claim(owner)
        if previous is not None:
            log.info("took over", extra={"pipeline": parts.name, "from": str(previous)})
        return [LaneRunner(
            Lane(plan, ledger, owner, self.jobs.run, lambda: time.time_ns() // 1_000_000,
                 crash),
            pace, listener, once, retry=block.on_failure == "retry")
            for plan, pace in zip(parts.lanes, parts.paces, strict=True)]


@contextmanager
def opened(
    file: PipelineFile, pipeline: str | None = None, base: Path | None = None
) -> Iterator[Application]:
    """Start Spark for the chosen pipelines and stop it at the end."""
    base = base or Path.cwd()
    chosen = file.select(pipeline)
    connectors = {connector for block in chosen.values()
                  for catalog in catalogs_of(block, base) for connector in connectors_of(catalog)}
    memory = file.spark.driver_memory
    session = start_session(SparkSettings(
        app_name="meltline " + ", ".join(chosen), master=file.spark.master,
        driver_memory=f"{memory >> 20}m" if memory else None, config=dict(file.spark.config),
        connectors=tuple(sorted(connectors))))
    application = Application(chosen, Jvm(session), SparkJobs(session, uuid.uuid4().hex[:8]), base)
    try:
        yield application
        application.close()
    finally:
        session.stop()
