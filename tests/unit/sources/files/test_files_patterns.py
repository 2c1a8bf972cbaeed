from __future__ import annotations

import pytest

from meltline.sources.files.patterns import compile_path, has_wildcard

CASES: list[tuple[str, list[str], list[str]]] = [
    ("*.json", ["a.json", "a.b.json"], ["a.jsonl", "d/a.json", ".a.json", "_a.json", ".json"]),
    ("?.json", ["a.json"], ["ab.json", ".json", "/.json"]),
    ("[ab]*", ["a", "bc"], ["c", "d/a"]),
    ("[!ab]*", ["c"], ["a", "b", "_c", ".c"]),
    ("x[^]", [], ["x"]),
    ("x[]a]", ["x]", "xa"], ["xb"]),
    ("x[a-c]", ["xa", "xb"], ["x-", "xd"]),
    ("x[*]", ["x*"], ["xa"]),
    ("x[", ["x["], ["x"]),
    ("a+(b)*", ["a+(b)c"], ["aab"]),
    ("_*", ["_a"], ["a"]),
    (".a*", [".ab"], ["ab"]),
    ("**", ["a", "d/a", "d/e/a"], [".a", "_d/a", "d/_a", "d/.e/a"]),
    ("**/*.json", ["a.json", "d/a.json", "d/e/a.json"], ["d/_a.json", "_d/a.json", "a"]),
    ("d/**/x", ["d/x", "d/e/x", "d/e/f/x"], ["x", "dx", "d/e/y"]),
    ("**/d/*", ["d/x", "a/d/x"], ["x", "d/e/x"]),
    ("*/x", ["d/x"], ["x", "d/e/x"]),
    ("a**b", ["ab", "axb"], ["a/b"]),
    ("*\n*", ["a\nb"], ["ab"]),
]


@pytest.mark.parametrize(("pattern", "hits", "misses"), CASES)
def test_patterns(pattern: str, hits: list[str], misses: list[str]) -> None:
    compiled = compile_path(pattern.split("/"))
    assert [name for name in hits if not compiled.fullmatch(name)] == []
    assert [name for name in misses if compiled.fullmatch(name)] == []


def test_wildcards() -> None:
    assert all(map(has_wildcard, ["*", "a?", "[a]"]))
    assert not has_wildcard("plain.json")
