"""Child processes: started with a log file, awaited with a deadline, stopped by their own pid."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.services.errors import ServiceError

LAUNCHER = Path(__file__).with_name("launch.py")
POLL_SECONDS = 0.05
GRACE_SECONDS = 15.0


@dataclass(frozen=True)
class Account:
    """The account to run a child under, by number."""

    uid: int
    gid: int


class Child:
    """One process we started. It never outlives us, however we end."""

    def __init__(
        self, name: str, process: subprocess.Popen[bytes], log: Path, stop_signal: signal.Signals
    ) -> None:
        self.name = name
        self.log = log
        self._process = process
        self._stop_signal = stop_signal

    @classmethod
    def start(
        cls,
        name: str,
        command: Sequence[object],
        log: Path,
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        account: Account | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
        death_signal: signal.Signals = signal.SIGKILL,
    ) -> Child:
        """Start ``command``, its words as text, with output appended to ``log``; returns at once.

        ``stop_signal`` is sent by ``stop``, ``death_signal`` by the kernel when we die. Call from
        the main thread only: the kernel sends it when the starting *thread* ends.
        """
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError(f"start {name} from the main thread, or it dies with this thread")
        ids = account or Account(-1, -1)
        shim = [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), str(int(death_signal))]
        with log.open("ab") as output:
            process = subprocess.Popen(
                [*shim, str(ids.uid), str(ids.gid), *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env={**os.environ, **(env or {})},
                start_new_session=True,  # an interrupt at the terminal is ours to pass on
            )
        return cls(name, process, log, stop_signal)

    @property
    def pid(self) -> int:
        """The process id, which the started program keeps."""
        return self._process.pid

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> None:
        """Return when ``ready()`` is true; raise with the log's end if it exits or is too late.

        The child is stopped before raising.
        """
        deadline = time.monotonic() + seconds
        while not ready():
            if (code := self._process.poll()) is not None:
                raise ServiceError(f"{self.name} exited with {code} before it was ready", self.log)
            if time.monotonic() > deadline:
                self.stop()
                raise ServiceError(f"{self.name} was not ready after {seconds:g} s", self.log)
            time.sleep(POLL_SECONDS)

    def finish(self, seconds: float) -> None:
        """Wait for a command that ends by itself; raise unless it ends well and in time."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ServiceError(f"{self.name} took more than {seconds:g} s", self.log) from None
        finally:
            self.stop()
        if code != 0:
            raise ServiceError(f"{self.name} failed with {code}", self.log)

    def stop(self) -> None:
        """Ask it to end, insist after a grace period, and wait. May be called again."""
        if self._process.poll() is not None:
            return
        self._process.send_signal(self._stop_signal)
        try:
            self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(GRACE_SECONDS)
