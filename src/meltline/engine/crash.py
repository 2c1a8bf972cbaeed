"""Named points at which tests kill the driver, as a power cut would."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

POINTS = ("plan", "record", "write", "publish.letters", "publish.table", "publish", "done")
VARIABLE = "MELTLINE_CRASH_AT"

CrashPoint = Callable[[str], None]


def no_crash(_: str) -> None:
    """What everybody but the crash tests uses."""


def crash_from_environment() -> CrashPoint:
    """MELTLINE_CRASH_AT=`point` or `point:n` kills the process when the point is reached the
    n-th time. Unset: nothing happens."""
    wanted, _, times = os.environ.get(VARIABLE, "").partition(":")
    if not wanted:
        return no_crash
    left = int(times or 1)

    def crash(point: str) -> None:
        nonlocal left
        if point == wanted:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return crash
