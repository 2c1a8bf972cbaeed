"""`meltline run` as a user runs it: a process of its own, which may be killed hard."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from meltline.engine.crash import VARIABLE
from tests.waiting import wait_until

LONGEST_RUN = 300


@dataclass(frozen=True)
class Run:
    """A process, and what it says on stderr. That goes to a file: a pipe would stay open for as
    long as any child of a killed process lives, and who reads it would wait."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait(self, seconds: float = LONGEST_RUN) -> int:
        """The exit code. Raises TimeoutExpired, and leaves nothing running then."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def wait_until_says(self, *texts: str) -> None:
        """Until one of the texts is there, or the process has ended."""
        wait_until(f"one of {texts}", lambda: self.process.poll() is not None
                   or any(text in self.said for text in texts))

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.wait(120)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)


def start_run(
    file: Path, crash_at: str | None = None, once: bool = True, options: Sequence[str] = (),
    module: str = "meltline.cli.main",
) -> Run:
    """The pipelines of a file, in its folder. `module` may be one of the tests' own."""
    environment = {**os.environ, **({VARIABLE: crash_at} if crash_at else {}),
                   "PYTHONPATH": os.pathsep.join(filter(None, [
                       str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH")]))}
    command = [sys.executable, "-m", module, "run", str(file),
               *(["--once"] if once else []), *options]
    log = file.parent / f"run-{uuid.uuid4().hex[:8]}.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(command, cwd=file.parent, env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=stream)
    return Run(process, log)
