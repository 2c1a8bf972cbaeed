from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from meltline.config.document import parse_document, read_document
from meltline.config.place import format_path
from meltline.errors import ConfigError

FILE = Path("p.yaml")


def test_every_key_and_entry_knows_its_line() -> None:
    document = parse_document("a:\n  b:\n    - c: 1\n    -\n      c: 2\nd: {e: 3,\n  f: 4}\n", FILE)
    assert document.root == {"a": {"b": [{"c": 1}, {"c": 2}]}, "d": {"e": 3, "f": 4}}
    assert document.at(("a",)) == "p.yaml:1 a"
    assert document.at(("a", "b")) == "p.yaml:2 a.b"
    assert document.at(("a", "b", 0)) == "p.yaml:3 a.b[0]"
    assert document.at(("a", "b", 1, "c")) == "p.yaml:5 a.b[1].c"
    assert document.at(("d", "f")) == "p.yaml:7 d.f"


def test_a_path_that_is_not_there_has_the_line_of_its_parent() -> None:
    document = parse_document("\na:\n  b: 1\n", FILE)
    assert document.at(("a", "b", "c", 0)) == "p.yaml:3 a.b.c[0]"
    assert document.at(("x",)) == "p.yaml:2 x"


def test_merged_keys_have_the_line_they_are_written_on() -> None:
    document = parse_document(
        "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc:\n  z: 3\n  <<: [*a, *b]\n", FILE
    )
    assert document.root["c"] == {"x": 1, "y": 1, "z": 3}
    assert [document.line(("c", key)) for key in "xyz"] == [1, 1, 4]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("on", "on"),
        ("~", None),
        ("null", None),
        ("", None),
        ("5", 5),
        ("-5", -5),
        ("0", 0),
        ("007", "007"),
        ("+5", "+5"),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("9" * 40, int("9" * 40)),
        ("9" * 41, "9" * 41),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1.2.3", "1.2.3"),
        (".", "."),
        ("12:30", "12:30"),
        ("2024-01-31", "2024-01-31"),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("!!float 5.0", 5.0),
        ("|\n  one\n  two", "one\ntwo\n"),
    ],
)
def test_scalars(text: str, value: Any) -> None:
    found = parse_document(f"a: {text}\n", FILE).root["a"]
    assert found == value
    assert isinstance(found, type(value))


def test_a_number_remembers_how_it_was_written() -> None:
    assert str(parse_document("a: 1.10\n", FILE).root["a"]) == "1.10"


def test_keys_are_texts() -> None:
    assert parse_document("1: a\ntrue: b\n~: c\n", FILE).root == {"1": "a", "true": "b", "~": "c"}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: [\n" * 3000, "the document is nested too deeply\n   at: p.yaml"),
        ("a: \x07\n", "the character U+0007 is not allowed in YAML\n   at: p.yaml:1"),
        (
            "a: &a {b: c}\nd:\n  <<: [*a, 5]\n",
            "<< takes a map or a list of maps\n   at: p.yaml:3 d",
        ),
        ("a: &a\n  <<: *a\n", "an alias contains itself\n   at: p.yaml:1 a"),
    ],
)
def test_hostile_documents(text: str, error: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_document(text, FILE)
    assert str(raised.value) == error


def test_aliases_cannot_blow_a_document_up() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(ConfigError, match="the document is too large"):
        parse_document("\n".join(levels), FILE)


def test_merges_of_merges_take_no_time() -> None:
    levels = ["a0: &a0 {x: 1}"]
    levels += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 60)]
    assert parse_document("\n".join(levels), FILE).root["a59"] == {"x": 1}


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "orders.yaml").write_text("a: 1\n", encoding="utf-8")
    missing = tmp_path / "order.yaml"
    with pytest.raises(ConfigError) as raised:
        read_document(missing)
    assert str(raised.value) == (
        f'there is no such file\n   at: {missing}\n hint: did you mean "orders.yaml"?'
    )
    with pytest.raises(ConfigError, match="the file cannot be read: Is a directory"):
        read_document(tmp_path)
    with pytest.raises(ConfigError, match="there is no such file"):
        read_document(tmp_path / "no" / "such" / "folder.yaml")


def test_encodings(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: gr\xc3\xbcn\n")
    assert read_document(file).root == {"a": "grün"}
    file.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(ConfigError) as raised:
        read_document(file)
    assert str(raised.value) == f"the file is not UTF-8 text\n   at: {file}:2"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("a", "b-c", 0, "d_e"), "a.b-c[0].d_e"),
        (("a", "s3.region"), 'a["s3.region"]'),
        (("x y", "z"), '["x y"].z'),
        ((), ""),
    ],
)
def test_paths(path: tuple[str | int, ...], text: str) -> None:
    assert format_path(path) == text
