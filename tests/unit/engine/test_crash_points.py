"""The points at which tests cut the power."""

from __future__ import annotations

import os
import signal

import pytest

from meltline.engine.crash import POINTS, VARIABLE, crash_from_environment, no_crash


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Kills that were asked for, instead of the kills."""
    kills: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, what: kills.append((pid, what)))
    return kills


def test_nothing_happens_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert crash_from_environment() is no_crash
    for point in POINTS:
        no_crash(point)


@pytest.mark.parametrize(("setting", "times"), [("write", 1), ("write:1", 1), ("write:3", 3)])
def test_the_process_is_killed_at_the_point(
    monkeypatch: pytest.MonkeyPatch, killed: list[tuple[int, int]], setting: str, times: int
) -> None:
    monkeypatch.setenv(VARIABLE, setting)
    reached = crash_from_environment()
    for number in range(1, times + 1):
        assert killed == []
        reached("plan")
        reached("write")
        assert bool(killed) == (number == times)
    assert killed == [(os.getpid(), signal.SIGKILL)]
    reached("write")
    assert len(killed) == 1
