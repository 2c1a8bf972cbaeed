"""Waiting for something that may never happen: always with an end."""

from __future__ import annotations

import threading
import time
from typing import Any

LONGEST = 120


def wait_until(what: str, true: Any, seconds: float = LONGEST) -> None:
    """Poll a condition; fails with `what` when it never holds."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.1)


def wait_for_end(thread: threading.Thread, seconds: float = LONGEST) -> None:
    """Start such a thread as a daemon: one that never ends must not keep the tests from ending."""
    thread.join(seconds)
    assert not thread.is_alive(), f"{thread.name} does not end"
