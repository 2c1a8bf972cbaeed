"""Every way to write a document wrong, with the exact error a user reads."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from meltline.config.file import PipelineFile
from meltline.errors import ConfigError


def read_cases() -> list[tuple[str, str, str]]:
    """`=== name`, a document, `---> error`, and the error."""
    text = Path(__file__).with_name("bad_documents.txt").read_text(encoding="utf-8")
    cases = []
    for part in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        name, _, rest = part.partition("\n")
        document, _, error = rest.partition("---> error\n")
        cases.append((name, document, error.removesuffix("\n")))
    return cases


CASES = read_cases()


@pytest.mark.parametrize(("document", "error"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_the_error_says_what_where_and_what_to_do(
    document: str, error: str, load: Callable[[str], PipelineFile]
) -> None:
    with pytest.raises(ConfigError) as raised:
        load(document)
    assert str(raised.value) == error
    assert raised.value.exit_code == 2


def test_the_names_of_the_cases_are_unique() -> None:
    names = [name for name, _, _ in CASES]
    assert sorted(set(names)) == sorted(names)


def test_a_single_problem_keeps_its_facts_as_attributes(
    load: Callable[[str], PipelineFile],
) -> None:
    with pytest.raises(ConfigError) as raised:
        load("p:\n  source: {files: {paths: [a]}}\n  sink: [{iceburg: {}}]\n")
    assert raised.value.what == 'unknown key "iceburg"'
    assert raised.value.at == "p.yaml:3 p.sink[0].iceburg"
    assert raised.value.hint == 'did you mean "iceberg"? valid keys: iceberg, file'


def test_nothing_of_the_validation_library_shows_in_a_traceback(
    load: Callable[[str], PipelineFile],
) -> None:
    with pytest.raises(ConfigError) as raised:
        load("p:\n  source: {}\n")
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None
