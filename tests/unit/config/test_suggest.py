from __future__ import annotations

import pytest

from meltline.config.suggest import choice_hint, closest


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("routs", "routes"),
        ("Routes", "routes"),
        ("table-identifier", "table_identifier"),
        ("tableidentifier", "table_identifier"),
        ("xyz", None),
        ("", None),
    ],
)
def test_closest(word: str, meant: str | None) -> None:
    assert closest(word, ["routes", "table_identifier", "sink"]) == meant


def test_hints() -> None:
    assert choice_hint("gzp", ["none", "gzip"]) == 'did you mean "gzip"? valid values: none, gzip'
    assert choice_hint("xyz", ["none", "gzip"]) == "valid values: none, gzip"
    assert choice_hint("xyz", [], "keys") == "there are no keys here"
