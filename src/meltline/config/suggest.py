"""Did you mean: suggestions for misspelt keys and values."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(word: str, valid: Iterable[str]) -> str | None:
    """The valid word that was most likely meant, or None. Case and `-` for `_` do not count."""
    by_spelling = {_spelling(option): option for option in valid}
    near = difflib.get_close_matches(_spelling(word), by_spelling, n=1, cutoff=0.6)
    return by_spelling[near[0]] if near else None


def _spelling(word: str) -> str:
    return word.lower().replace("-", "_")


def choice_hint(word: str, valid: Iterable[str], noun: str = "values") -> str:
    """`did you mean "gzip"? valid values: none, gzip`"""
    options = list(valid)
    listed = f"valid {noun}: {', '.join(options)}" if options else f"there are no {noun} here"
    near = closest(word, options)
    return f'did you mean "{near}"? {listed}' if near else listed
