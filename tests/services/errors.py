"""The one error of the test services."""

from pathlib import Path

TAIL_BYTES = 6000


class ServiceError(Exception):
    """A test service could not be built or did not come up; ends with the end of its log."""

    def __init__(self, what: str, log: Path | None = None) -> None:
        self.what = what
        self.log = log
        super().__init__(what if log is None else f"{what}\n--- end of {log} ---\n{tail(log)}")


def tail(log: Path) -> str:
    """The last lines of a log file; never raises because of what is in it."""
    if not log.exists():
        return "(no log was written)"
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - TAIL_BYTES))
        return stream.read().decode("utf-8", errors="replace")
