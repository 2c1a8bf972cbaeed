"""The end of a process, without the end of the process."""

from __future__ import annotations

from meltline.engine.crash import CrashPoint


class PowerCut(BaseException):
    """Nothing in the engine catches it, as nothing survives a power cut."""


def cut_power_at(point: str, times: int = 1) -> CrashPoint:
    """Raises PowerCut when the point (engine/crash.py) is reached the given time."""
    left = times

    def crash(reached: str) -> None:
        nonlocal left
        if reached == point:
            left -= 1
            if left == 0:
                raise PowerCut(point)

    return crash
