"""Iceberg's Java library in the driver's JVM, reached through Py4J. The one untyped place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from meltline.errors import CommitConflict, CommitUnknown, MeltlineError, Retryable, RunError
from meltline.redact import redact

_CONFLICTS = ("CommitFailedException",)
_UNKNOWN = ("CommitStateUnknownException",)
_FINAL = ("IllegalArgumentException", "ValidationException", "UnsupportedOperationException")
_USERS_MISTAKES = ("NotAuthorizedException", "ForbiddenException", "BadRequestException")

JAVA_ERRORS = (Py4JJavaError, CapturedException)
"""PySpark turns some of Java's own exceptions, wherever they come from, into its kind."""


class Jvm:
    """A handle on the packages `org.apache.iceberg` and `java`."""

    def __init__(self, session: SparkSession) -> None:
        context = session.sparkContext
        gateway = context._gateway  # noqa: SLF001
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        view: Any = context._jvm  # noqa: SLF001
        self.iceberg = view.org.apache.iceberg
        self.java = view.java
        self.hadoop_configuration = context._jsc.hadoopConfiguration()  # noqa: SLF001

    def map(self, values: Mapping[str, str]) -> Any:
        result = self.java.util.HashMap()
        for key, value in values.items():
            result.put(key, value)
        return result

    def texts(self, java_map: Any) -> dict[str, str]:
        """A map of texts in one call. To go over it by Py4J takes a call per entry, and its end is
        an exception that PySpark takes 40 ms to look at."""
        mapper = self.iceberg.util.JsonUtil.mapper()
        found: dict[str, str] = json.loads(mapper.writeValueAsString(java_map))
        return found

    def numbers(self, java_set: Any) -> list[int]:
        """A set of numbers in one call, for the same reason."""
        found: list[int] = json.loads(self.iceberg.util.JsonUtil.mapper().writeValueAsString(
            java_set))
        return found

    def json_tree(self, text: str) -> Any:
        return self.iceberg.util.JsonUtil.mapper().readTree(text)


@contextmanager
def java_errors(doing: str) -> Iterator[None]:
    """Turn a Java exception into an error of ours that says what was being done, redacted."""
    try:
        yield
    except JAVA_ERRORS as error:
        raise translate(error, doing) from None


def translate(error: Exception, doing: str) -> MeltlineError:
    names = exception_names(error)
    text = redact(f"{doing}: {_message(error)}")
    if any(name in _CONFLICTS for name in names):
        return CommitConflict(text)
    if any(name in _UNKNOWN for name in names):
        return CommitUnknown(text)
    if any(name in _USERS_MISTAKES for name in names):
        return RunError(text, hint="check the catalog's address and credentials")
    if names[0] in _FINAL:
        return RunError(text)
    return Retryable(text)


def exception_names(error: Exception) -> list[str]:
    """Simple class names of the exception and its causes, outermost first."""
    names: list[str] = []
    cause = _java_exception(error)
    while cause is not None and len(names) < 10:
        names.append(str(cause.getClass().getSimpleName()))
        cause = cause.getCause()
    return names


def _java_exception(error: Any) -> Any:
    return error.java_exception if isinstance(error, Py4JJavaError) else error._origin  # noqa: SLF001


def _message(error: Exception) -> str:
    """The messages of the exception and its causes in one line; Java's stack is for developers."""
    parts: list[str] = []
    cause = _java_exception(error)
    while cause is not None and len(parts) < 4:
        text = str(cause.getMessage() or cause.getClass().getSimpleName())
        if not any(text in known for known in parts):
            parts.append(text.splitlines()[0])
        cause = cause.getCause()
    return ": ".join(parts)
