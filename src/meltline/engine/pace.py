"""How long a lane waits before its next step. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

LONGEST_BACKOFF = 60.0


@dataclass(frozen=True)
class Pace:
    """`poll`: how often an idle source is asked. `commit`: from one epoch's start to the next."""

    poll: timedelta
    commit: timedelta


def after_epoch(pace: Pace, elapsed: float, backlog: bool) -> float:
    """Seconds to wait after an epoch that took `elapsed`. A backlog is not made to wait."""
    return 0.0 if backlog else max(pace.commit.total_seconds() - elapsed, 0.0)


def after_idle(pace: Pace) -> float:
    return pace.poll.total_seconds()


def after_failure(failures: int) -> float:
    """1, 2, 4, ... seconds, at most a minute."""
    # the exponent has its end as well: a night of failures must not overflow
    return float(min(2.0 ** min(failures - 1, 10), LONGEST_BACKOFF))
