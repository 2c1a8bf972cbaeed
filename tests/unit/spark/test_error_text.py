"""Errors that travel from a worker to the driver as what they are."""

from __future__ import annotations

import pytest

from meltline.errors import PositionLost, RunError
from meltline.spark.error_text import is_error, raise_if_error, to_text


@pytest.mark.parametrize("error", [
    RunError("what", at="where", hint="do this"), PositionLost("gone", hint="re_export")])
@pytest.mark.parametrize("as_bytes", [False, True])
def test_an_error_arrives_as_it_was(error: RunError, as_bytes: bool) -> None:
    text = to_text(error)
    with pytest.raises(type(error)) as raised:
        raise_if_error(text.encode() if as_bytes else text)
    assert (raised.value.what, raised.value.at, raised.value.hint) == (
        error.what, error.at, error.hint)


@pytest.mark.parametrize("content", ["", '{"shard": 1}', b"\x80\x05", b""])
def test_other_results_are_none(content: str | bytes) -> None:
    assert not is_error(content)
    raise_if_error(content)
