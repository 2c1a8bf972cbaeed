"""Runs the tasks of an epoch on Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark import RDD, Accumulator, TaskContext
from pyspark.sql import SparkSession

from meltline import errors
from meltline.engine.exchange import Part, bucket_count, second_stage, with_buckets
from meltline.engine.report import TaskReport
from meltline.engine.rounds import Piece
from meltline.engine.task import gather_task, run_task
from meltline.engine.work import TaskWork
from meltline.redact import redact
from meltline.spark.error_text import raise_if_error, to_text
from meltline.spark.rounds import after_rounds, meet, task_count
from meltline.spark.worker_path import forget_archives

Outcome = str | Part
"""A task's report or error as text, or what it hands to the second stage."""

Item = TypeVar("Item")
Made = TypeVar("Made")


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
        buckets = bucket_count(works, self.parallelism)
        works = with_buckets(works, buckets)
        some, count = works[0], task_count(works)

        def first(work: TaskWork) -> Iterator[tuple[int, Outcome]]:
            for bucket, outcome in _first_stage(work, run_id):
                if isinstance(outcome, str):
                    rows.add(json.loads(outcome).get("read", 0))
                yield bucket, outcome

        def second(bucket: int, arrived: Iterable[tuple[int, Outcome]]) -> Iterator[str]:
            return _second_stage(second_stage(some, count, bucket), run_id, arrived)

        try:
            outcomes = after_rounds(self._context, works).flatMap(first)
            if buckets:
                done = outcomes.partitionBy(buckets, _own_bucket).mapPartitionsWithIndex(second)
            else:
                done = outcomes.map(_outcome)
            texts = done.collect()
        except Py4JJavaError as error:
            raise _failed(error) from None
        finally:
            self._rows.pop(description, None)
        for text in texts:
            raise_if_error(text)
        return [TaskReport.from_json(text) for text in texts]

    def map(
        self, function: Callable[[Item, str], Made], items: Sequence[Item], description: str,
        pool: str,
    ) -> list[Made]:
        """See engine.protocols.MapItems."""
        if not items:
            return []
        self._context.setLocalProperty("spark.scheduler.pool", pool)
        self._context.setJobGroup(description, description, interruptOnCancel=False)
        run_id = self._run_id

        def call(item: Item) -> Made | str:
            return _call(function, item, run_id)

        return _collected(self._context.parallelize(items, len(items)).map(call))

    def meet(
        self, scatter: Callable[[Item], Iterator[Piece]],
        gather: Callable[[Sequence[Piece]], Made], items: Sequence[Item], tasks: int,
        description: str, pool: str,
    ) -> list[Made]:
        """See engine.protocols.Meet."""
        if not items:
            return []
        self._context.setLocalProperty("spark.scheduler.pool", pool)
        self._context.setJobGroup(description, description, interruptOnCancel=False)
        return _collected(meet(self._context, scatter, gather, items, tasks))

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


def _collected(outcomes: RDD[Any]) -> list[Any]:
    try:
        made = outcomes.collect()
    except Py4JJavaError as error:
        raise _failed(error) from None
    for outcome in made:
        if isinstance(outcome, str):
            raise_if_error(outcome)
    return made


def _first_stage(work: TaskWork, run_id: str) -> Iterator[tuple[int, Outcome]]:
    """In the worker. Reports go along with what is scattered, each to some bucket."""
    forget_archives()
    own = work.place.shard % max(work.place.buckets, 1)
    try:
        for made in run_task(_attempt(work, run_id)):
            yield (own, made.to_json()) if isinstance(made, TaskReport) else made
    except errors.Retryable:
        raise
    except errors.MeltlineError as error:
        yield own, to_text(error)


def _second_stage(
    work: TaskWork, run_id: str, arrived: Iterable[tuple[int, Outcome]]
) -> Iterator[str]:
    forget_archives()
    parts = []
    for _, outcome in arrived:
        if isinstance(outcome, str):
            yield outcome
        else:
            parts.append(outcome)
    try:
        if parts:
            yield gather_task(_attempt(work, run_id), parts).to_json()
    except errors.Retryable:
        raise
    except errors.MeltlineError as error:
        yield to_text(error)


def _call(function: Callable[[Item, str], Made], item: Item, run_id: str) -> Made | str:
    """In the worker. A moved base may be looked at again, but not by this task."""
    forget_archives()
    try:
        return function(item, _attempt_name(run_id))
    except errors.MeltlineError as error:
        if isinstance(error, errors.Retryable) and not isinstance(error, errors.BaseMoved):
            raise
        return to_text(error)


def _attempt(work: TaskWork, run_id: str) -> TaskWork:
    return replace(work, place=replace(work.place, attempt=_attempt_name(run_id)))


def _attempt_name(run_id: str) -> str:
    context = TaskContext.get()
    return f"{run_id}.{context.taskAttemptId() if context else 0}"


def _own_bucket(bucket: int) -> int:
    return bucket


def _outcome(pair: tuple[int, Outcome]) -> str:
    if not isinstance(pair[1], str):
        raise TypeError("a task scattered rows though there is no second stage")
    return pair[1]


def _failed(error: Py4JJavaError) -> errors.Retryable:
    """The last line of the worker's traceback is what a person wants to read."""
    text = str(error.java_exception.getMessage())
    lines = [line for line in text.splitlines()
             if re.match(r"^[A-Za-z_][\w.]*(Error|Exception|Retryable)\b", line)]
    reason = lines[-1] if lines else text.splitlines()[0]
    return errors.Retryable(redact(f"a task failed on Spark: {reason}"))
