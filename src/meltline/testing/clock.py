"""Time that passes only when it is told to."""

from __future__ import annotations

import threading


class FakeClock:
    """Call it for the milliseconds since 1970, as a lane does."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, milliseconds: int) -> None:
        self.now_ms += milliseconds


class FakeStop(threading.Event):
    """A stop signal that does not wait but remembers how long it should have.

    It sets itself at the `waits`-th wait, so that a loop without an end has one.
    """

    def __init__(self, waits: int = 1000) -> None:
        super().__init__()
        self.waited: list[float] = []
        self._left = waits

    def wait(self, timeout: float | None = None) -> bool:
        self.waited.append(0.0 if timeout is None else timeout)
        self._left -= 1
        if self._left <= 0:
            self.set()
        return self.is_set()
