"""Keeps secrets out of everything people see: errors, logs, status.

Whoever learns a secret registers it; whoever is about to show text asks `redact`. The registry is
one per process, so an error text of Spark or of a catalog is covered as well as our own.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

MASK = "***"
SHORTEST = 4
"""Shorter secrets are not replaced: they are parts of ordinary words, which a log needs."""

_SHORTEST_LINE = 8
_HARMLESS = frozenset({"true", "false", "null"})
_FORMATTER = logging.Formatter()
_KNOWN_FIELDS = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__)


class Redactor:
    """A set of secrets that only grows. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._secrets: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def register(self, secret: str) -> None:
        """Hide this value from now on, also URL-quoted, JSON-escaped, or line by line."""
        forms = {form for form in _forms(secret) if len(form) >= SHORTEST}
        with self._lock:
            if forms <= self._secrets:
                return
            self._secrets |= forms
            # longest first: a secret inside another one must not leave the rest of it readable
            ordered = sorted(self._secrets, key=lambda form: (-len(form), form))
            self._pattern = re.compile("|".join(map(re.escape, ordered)))

    def redact(self, text: str) -> str:
        """The text with every registered secret replaced."""
        pattern = self._pattern
        return text if pattern is None else pattern.sub(MASK, text)


def _forms(secret: str) -> Iterator[str]:
    if secret.strip().lower() in _HARMLESS:
        return
    for text in {secret, secret.strip()}:
        yield text
        yield quote(text, safe="")
        yield quote_plus(text)
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
    lines = [line.strip() for line in secret.splitlines()]
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= _SHORTEST_LINE)


_process = Redactor()


def register_secret(secret: str) -> None:
    """Hide a value from everything this process shows. The words true, false and null stay."""
    _process.register(secret)


def redact(text: str) -> str:
    """The text with every secret known to this process replaced by `***`."""
    return _process.redact(text)


class RedactingFilter(logging.Filter):
    """Redacts a log record in place: message, arguments, extra fields, traceback and stack.

    Attach it to handlers, not to loggers: a logger's filter does not see its children's records.
    A formatter finds the redacted traceback in `exc_text` and must not format `exc_info` itself.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        _redact_message(record)
        if record.exc_info and not record.exc_text:
            record.exc_text = _FORMATTER.formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        for name, value in list(vars(record).items()):
            if name not in _KNOWN_FIELDS:
                setattr(record, name, _redacted_field(value))
        return True


def _redacted_field(value: object) -> object:
    """The value itself when it shows no secret, whatever its type; its redacted text otherwise."""
    text = str(value)
    shown = redact(text)
    return value if shown == text else shown


def _redact_message(record: logging.LogRecord) -> None:
    try:
        record.msg = redact(record.getMessage())
        record.args = ()
    except (TypeError, ValueError, KeyError, AttributeError):
        # The arguments do not fit the message. Logging reports that with both, so hide in both.
        record.msg = redact(str(record.msg))
        record.args = _redacted_args(record.args)


def _redacted_args(args: object) -> tuple[object, ...]:
    values = tuple(args) if isinstance(args, tuple) else (args,)
    return tuple(
        value if isinstance(value, int | float) else redact(str(value)) for value in values
    )
