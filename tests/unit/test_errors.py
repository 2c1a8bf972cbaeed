"""Errors as people see them."""

from __future__ import annotations

import inspect

import pytest

from meltline import errors
from meltline.errors import MeltlineError, Retryable, RunError, UserError

TEXTS: list[tuple[MeltlineError, str]] = [
    (UserError("no table"), "no table"),
    (UserError("no table", at="a.yaml:3 sink"), "no table\n   at: a.yaml:3 sink"),
    (RunError("no table", hint="make one"), "no table\n hint: make one"),
    (RunError("no table", at="here", hint="make one"), "no table\n   at: here\n hint: make one"),
]


@pytest.mark.parametrize(("error", "text"), TEXTS, ids=range(len(TEXTS)))
def test_what_where_and_what_to_do(error: MeltlineError, text: str) -> None:
    assert str(error) == text
    assert error.what == "no table"


KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)
         if issubclass(kind, MeltlineError)]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_is_of_one_of_two_kinds(kind: type[MeltlineError]) -> None:
    if kind is not MeltlineError:
        assert issubclass(kind, UserError) != issubclass(kind, RunError)
    assert kind("x").exit_code == (2 if issubclass(kind, UserError) else 1)


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_is_in_the_tree_of_the_docstring(kind: type[MeltlineError]) -> None:
    assert kind.__name__ in str(errors.__doc__)


def test_what_may_be_tried_again() -> None:
    assert {kind.__name__ for kind in KINDS if issubclass(kind, Retryable)} == {
        "Retryable", "CommitConflict", "BaseMoved", "CommitUnknown"}
