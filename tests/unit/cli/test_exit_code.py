"""The exit code of a run says whose turn it is."""

from __future__ import annotations

import pytest

from meltline.cli.run import exit_code
from meltline.errors import ConfigurationChanged, Fenced, UserError

CASES: dict[str, tuple[list[BaseException], int]] = {
    "nothing failed": ([], 0),
    "the user's mistake": ([ConfigurationChanged("x")], 2),
    "two of them": ([UserError("x"), ConfigurationChanged("x")], 2),
    "a failure": ([Fenced("x")], 1),
    "a bug": ([KeyError("x")], 1),
    "both kinds": ([UserError("x"), Fenced("x")], 1),
}


@pytest.mark.parametrize("case", CASES)
def test_exit_code(case: str) -> None:
    failures, code = CASES[case]
    assert exit_code(failures) == code
