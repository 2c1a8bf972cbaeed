from __future__ import annotations

import pytest

from meltline.config.suggest import choice_hint, closest, unknown_key_message


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


def test_unknown_keys() -> None:
    expected = 'unknown key "sinks": did you mean "sink"? valid keys: source, sink'
    assert unknown_key_message("sinks", ["source", "sink"]) == expected
