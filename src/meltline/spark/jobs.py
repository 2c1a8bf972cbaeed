"""Runs the tasks of an epoch on Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark import Accumulator, TaskContext
from pyspark.sql import SparkSession

from meltline import errors
from meltline.engine.report import TaskReport
from meltline.engine.task import run_task
from meltline.engine.work import TaskWork
from meltline.redact import redact

_ERROR = "meltline-error"

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class SparkJobs:
    """`run` is an engine.lane.RunTasks. `run_id` keeps the files of two driver runs apart."""

    def __init__(self, session: SparkSession, run_id: str) -> None:
        self._context = session.sparkContext
        self._run_id = run_id
        self._rows: dict[str, Accumulator[int]] = {}

    @property
    def parallelism(self) -> int:
        return max(self._context.defaultParallelism, 1)

    def run(self, works: Sequence[TaskWork], description: str) -> list[TaskReport]:
        if not works:
            return []
        # a pool of its own per pipeline: a long epoch of one does not hold up the others
        self._context.setLocalProperty("spark.scheduler.pool", works[0].place.pipeline)
        self._context.setJobGroup(description, description, interruptOnCancel=False)
        run_id = self._run_id
        rows = self._rows[description] = self._context.accumulator(0)

        def run_and_count(work: TaskWork) -> str:
            outcome = _run(work, run_id)
            rows.add(json.loads(outcome).get("read", 0))
            return outcome

        try:
            outcomes = self._context.parallelize(works, len(works)).map(run_and_count).collect()
        except Py4JJavaError as error:
            raise _failed(error) from None
        finally:
            del self._rows[description]
        for outcome in outcomes:
            _raise_if_error(outcome)
        return [TaskReport.from_json(outcome) for outcome in outcomes]

    def map(
        self, function: Callable[[Item, str], Outcome], items: Sequence[Item], description: str,
        pool: str,
    ) -> list[Outcome]:
        """See engine.protocols.MapItems."""
        if not items:
            return []
        self._context.setLocalProperty("spark.scheduler.pool", pool)
        self._context.setJobGroup(description, description, interruptOnCancel=False)
        run_id = self._run_id

        def call(item: Item) -> Outcome | str:
            return _caught(lambda: function(item, _attempt(run_id)))

        try:
            outcomes = self._context.parallelize(items, len(items)).map(call).collect()
        except Py4JJavaError as error:
            raise _failed(error) from None
        return [_unless_error(outcome) for outcome in outcomes]

    def progress(self, description: str) -> tuple[int, int, int]:
        """Tasks done, tasks in all, and events read by the tasks that are done."""
        rows = self._rows.get(description)
        tracker = self._context.statusTracker()
        done = total = 0
        for job in tracker.getJobIdsForGroup(description):
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info and info.status == "RUNNING" else []:
                if detail := tracker.getStageInfo(stage):
                    done += detail.numCompletedTasks
                    total += detail.numTasks
        return done, total, 0 if rows is None else int(rows.value)

    def cancel(self) -> None:
        self._context.cancelAllJobs()


def _run(work: TaskWork, run_id: str) -> str:
    """In the worker."""
    place = replace(work.place, attempt=_attempt(run_id))
    return _caught(lambda: run_task(replace(work, place=place)))


def _attempt(run_id: str) -> str:
    context = TaskContext.get()
    return f"{run_id}.{context.taskAttemptId() if context else 0}"


def _caught(call: Callable[[], Outcome]) -> Outcome | str:
    """An error that another try of the same task cannot cure is returned, not raised: Spark would
    only try the task again."""
    try:
        return call()
    except errors.MeltlineError as error:
        if isinstance(error, errors.Retryable) and not isinstance(error, errors.BaseMoved):
            raise
        return json.dumps({_ERROR: type(error).__name__, "what": error.what, "at": error.at,
                           "hint": error.hint})


def _unless_error(outcome: Outcome | str) -> Outcome:
    if isinstance(outcome, str):
        _raise_if_error(outcome)
    return outcome  # type: ignore[return-value]


def _raise_if_error(outcome: str) -> None:
    if outcome.startswith(f'{{"{_ERROR}"'):
        body: dict[str, Any] = json.loads(outcome)
        kind = getattr(errors, body[_ERROR], errors.RunError)
        raise kind(redact(body["what"]), at=body["at"], hint=body["hint"])


def _failed(error: Py4JJavaError) -> errors.Retryable:
    """The last line of the worker's traceback is what a person wants to read."""
    text = str(error.java_exception.getMessage())
    lines = [line for line in text.splitlines()
             if re.match(r"^[A-Za-z_][\w.]*(Error|Exception|Retryable)\b", line)]
    reason = lines[-1] if lines else text.splitlines()[0]
    return errors.Retryable(redact(f"a task failed on Spark: {reason}"))
