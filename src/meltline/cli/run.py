"""`meltline run`: runs pipelines until they end or a signal comes."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

from meltline.assembly.application import opened
from meltline.cli.progress import Progress
from meltline.config.file import load_file
from meltline.errors import MeltlineError, UserError
from meltline.observe.listener import LogListener
from meltline.observe.logs import set_up_logs
from meltline.observe.metrics import Metrics
from meltline.redact import redact

log = logging.getLogger("meltline.run")


def run(options: argparse.Namespace) -> int:
    file = load_file(options.file)
    set_up_logs(options.log_format == "json", options.log_level)
    for warning in file.warnings:
        log.warning("%s", warning)
    file.select(options.pipeline)
    stop = _stop_on_signals()
    metrics = Metrics()
    if options.metrics_port:
        metrics.serve(options.metrics_port)
        log.info("metrics served", extra={"port": options.metrics_port})
    log.info("starting spark", extra={"master": file.spark.master})
    text = options.log_format == "text"
    with (opened(file, options.pipeline) as application,
          Progress(sys.stderr, application.jobs, enabled=text) as line):
        failures = application.run(LogListener(metrics, line), stop, options.once)
    for failure in failures:
        _tell(failure)
    return exit_code(failures)


def exit_code(failures: Sequence[BaseException]) -> int:
    """2 when every lane that stopped did so by the user's mistake, 1 when anything else did."""
    if not failures:
        return 0
    return 2 if all(isinstance(failure, UserError) for failure in failures) else 1


def _tell(failure: BaseException) -> None:
    if isinstance(failure, MeltlineError):
        print(f"error: {redact(str(failure))}", file=sys.stderr)
    else:
        log.error("a lane stopped by a bug in meltline", exc_info=failure)


def _stop_on_signals() -> threading.Event:
    """The first signal ends the run after the running epoch, the second one at once."""
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        if stop.is_set():
            sys.exit(128 + number)
        log.info("stopping after the running epoch; a second signal stops at once")
        stop.set()

    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, ask)
    return stop
