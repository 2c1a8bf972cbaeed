"""One run of the pipeline in a process of its own, which can be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PIPELINE = Path("demo/pipeline.yaml")
_SHORT_LIVED = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""A run of the demo lives for seconds: a compiler for the long run would only cost time."""


class Driver:
    """`meltline run` on the demo's pipeline. Its log goes to a file and is followed from there."""

    def __init__(self, log: Path, environment: Mapping[str, str] | None = None) -> None:
        self._log = log
        command = [
            sys.executable,
            "-m",
            "meltline.cli.main",
            "run",
            str(PIPELINE),
            "--once",
            "--log-format",
            "json",
        ]
        with log.open("w") as stream:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                cwd=ROOT,
                env={**_SHORT_LIVED, **os.environ, **(environment or {})},
                start_new_session=True,
            )

    def lines(self) -> Iterator[dict[str, Any]]:
        """Log lines as they come, until the process has ended."""
        with self._log.open(encoding="utf-8") as stream:
            held = ""
            while True:
                ended = self._process.poll() is not None
                held += stream.read()
                *whole, held = held.split("\n")
                for line in whole:
                    if line.startswith("{"):
                        yield json.loads(line)
                if ended:
                    return
                time.sleep(0.05)

    def kill(self) -> None:
        """kill -9: no handler runs, nothing is cleaned up."""
        self._process.kill()

    def wait(self) -> int:
        """The exit code; minus the signal's number when one ended it."""
        return self._process.wait()

    def clean_up(self) -> None:
        """End what the run may have left behind, Java included: it has a session of its own."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def tail(self) -> str:
        return "\n".join(self._log.read_text(encoding="utf-8").splitlines()[-20:])
