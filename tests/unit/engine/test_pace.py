"""How long a lane waits."""

from __future__ import annotations

from datetime import timedelta

import pytest

from meltline.engine.pace import LONGEST_BACKOFF, Pace, after_epoch, after_failure, after_idle

PACE = Pace(poll=timedelta(seconds=30), commit=timedelta(minutes=5))


@pytest.mark.parametrize(
    ("elapsed", "backlog", "seconds"),
    [(0.0, False, 300.0), (120.0, False, 180.0), (300.0, False, 0.0), (900.0, False, 0.0),
     (0.0, True, 0.0), (120.0, True, 0.0)],
)  # fmt: skip
def test_after_an_epoch(elapsed: float, backlog: bool, seconds: float) -> None:
    assert after_epoch(PACE, elapsed, backlog) == seconds


def test_an_idle_source_is_asked_at_the_poll_interval() -> None:
    assert after_idle(PACE) == 30.0


def test_failures_wait_ever_longer_up_to_a_minute() -> None:
    assert [after_failure(count) for count in range(1, 10)] == [
        1, 2, 4, 8, 16, 32, LONGEST_BACKOFF, LONGEST_BACKOFF, LONGEST_BACKOFF]
    assert after_failure(100_000) == LONGEST_BACKOFF
