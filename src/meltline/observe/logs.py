"""Log lines: for people by default, JSON by flag. A fragment plus fields, never a sentence."""

from __future__ import annotations

import json
import logging
import sys
from datetime import datetime, timezone
from typing import Any, TextIO

from meltline.redact import RedactingFilter

LOGGER = "meltline"
_KNOWN = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {
    "message", "asctime", "taskName"}


def set_up_logs(as_json: bool, level: str = "INFO", stream: TextIO | None = None) -> None:
    """Once, at the start of a command. Secrets are masked before anything is written."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if as_json else PlainLines())
    handler.addFilter(RedactingFilter())
    root = logging.getLogger(LOGGER)
    root.handlers[:] = [handler]
    root.setLevel(level)
    root.propagate = False
    logging.getLogger("py4j").setLevel(logging.CRITICAL)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key, value in record.__dict__.items()
            if key not in _KNOWN and value is not None}


class PlainLines(logging.Formatter):
    """`19:55:10 INFO  epoch published pipeline=orders epoch=41 rows=1200`"""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, timezone.utc).strftime("%H:%M:%S")
        fields = " ".join(f"{key}={value}" for key, value in fields_of(record).items())
        line = f"{at} {record.levelname:<7} {record.getMessage()} {fields}".rstrip()
        if record.exc_text:  # made by the filter, with secrets masked
            line += "\n" + record.exc_text
        return line


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, timezone.utc)
        body: dict[str, Any] = {"at": at.isoformat(timespec="milliseconds"),
                                "level": record.levelname, "message": record.getMessage()}
        body |= fields_of(record)
        if record.exc_text:
            body["trace"] = record.exc_text
        return json.dumps(body, default=str)
