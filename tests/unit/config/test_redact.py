from __future__ import annotations

import io
import logging
import threading
from urllib.parse import quote

import pytest

from meltline.redact import RedactingFilter, Redactor, register_secret


@pytest.mark.parametrize(
    ("secrets", "text", "shown"),
    [
        ([], "nothing to hide", "nothing to hide"),
        (["hunter2"], "login with hunter2 failed", "login with *** failed"),
        (["hunter2"], "hunter2hunter2", "******"),
        (["abcd", "abcdefgh"], "abcdefgh abcd", "*** ***"),
        (["abc"], "abc", "abc"),
        (["a.c*"], "a.c* abcc", "*** abcc"),
        (["p@ss/word 1"], quote("p@ss/word 1", safe=""), "***"),
        (["p@ss/word 1"], "p%40ss%2Fword+1", "***"),
        (['say "hi"\n'], 'x say \\"hi\\"\\n x', "x *** x"),
        (["grüße-aus"], "gr\\u00fc\\u00dfe-aus", "***"),
        (["  padded  "], "padded", "***"),
        (["first line here\nsecond line here"], "at second line here", "at ***"),
        (["true"], "it is true", "it is true"),
        ([""], "empty", "empty"),
    ],
)
def test_redact(secrets: list[str], text: str, shown: str) -> None:
    redactor = Redactor()
    for secret in secrets:
        redactor.register(secret)
    assert redactor.redact(text) == shown


def test_threads_may_register_and_redact_at_once() -> None:
    redactor = Redactor()

    def work(number: int) -> None:
        for index in range(50):
            redactor.register(f"secret-{number}-{index}")
            redactor.redact("some text")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        assert redactor.redact(f"secret-{number}-49") == "***"


@pytest.fixture
def log() -> tuple[logging.Logger, io.StringIO]:
    register_secret("hunter2")
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(message)s %(table)s", defaults={"table": "-"}))
    handler.addFilter(RedactingFilter())
    logger = logging.Logger("test")
    logger.addHandler(handler)
    return logger, stream


def test_the_filter_redacts_messages_arguments_and_fields(
    log: tuple[logging.Logger, io.StringIO],
) -> None:
    logger, stream = log
    logger.warning("key %s refused", ValueError("hunter2"), extra={"table": "hunter2.t"})
    assert stream.getvalue() == "key *** refused ***.t\n"


def test_fields_of_any_type_are_redacted(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, stream = log
    logger.warning("a", extra={"table": ["hunter2"]})
    logger.warning("b", extra={"table": {"epoch": 41}})
    assert stream.getvalue() == "a ['***']\nb {'epoch': 41}\n"


def test_the_filter_redacts_tracebacks(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, stream = log
    try:
        raise ValueError("password hunter2 refused")
    except ValueError:
        logger.exception("failed", stack_info=True)
    assert "hunter2" not in stream.getvalue()
    assert "ValueError: password *** refused" in stream.getvalue()


def test_arguments_that_do_not_fit_neither_raise_nor_leak(
    log: tuple[logging.Logger, io.StringIO], capsys: pytest.CaptureFixture[str]
) -> None:
    logger, stream = log
    secret = "-".join(["not", "in", "the", "source"])
    register_secret(secret)
    logger.warning("one %s two %s", secret)
    reported = capsys.readouterr().err
    assert "Arguments: ('***',)" in reported
    assert secret not in reported + stream.getvalue()
