"""Finding Java, and what people are told when it is missing or too old."""

from __future__ import annotations

from pathlib import Path

import pytest

from meltline.errors import UserError
from meltline.spark.java import find_java, parse_version

VERSIONS = {
    'openjdk version "17.0.15" 2025-04-15': 17,
    'openjdk version "21" 2023-09-19': 21,
    'openjdk version "25-ea" 2025-09-16': 25,
    'java version "1.8.0_292"': 8,
    'java version "11.0.2" 2019-01-15 LTS': 11,
    "Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version \"17.0.1\" 2021-10-19": 17,
    "": 0,
    "Error: could not find libjava.so": 0,
}


@pytest.mark.parametrize("text", VERSIONS)
def test_the_feature_release(text: str) -> None:
    assert parse_version(text) == VERSIONS[text]


def fake_java(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return java


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))


def put_on_path(monkeypatch: pytest.MonkeyPatch, java: Path) -> None:
    monkeypatch.setenv("PATH", f"{java.parent}:/bin:/usr/bin")


def test_java_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = fake_java(tmp_path, "17.0.15")
    put_on_path(monkeypatch, java)
    assert find_java() == java


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_on_path(monkeypatch, fake_java(tmp_path / "path", "17.0.15"))
    home = fake_java(tmp_path / "home", "21")
    monkeypatch.setenv("JAVA_HOME", str(home.parent.parent))
    assert find_java() == home


def test_no_java_at_all() -> None:
    with pytest.raises(UserError) as raised:
        find_java()
    assert str(raised.value) == (
        "Spark needs Java 17 or newer, and none was found (not on PATH)\n"
        " hint: install a JDK or JRE 17 or newer and put `java` on PATH, or set JAVA_HOME to it")


def test_a_java_home_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The user named a place: another Java is not taken silently."""
    put_on_path(monkeypatch, fake_java(tmp_path / "path", "17.0.15"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "empty"))
    with pytest.raises(UserError, match=r"JAVA_HOME is .*empty, and there is no bin/java in it"):
        find_java()


@pytest.mark.parametrize(("version", "release"), [("1.8.0_292", 8), ("11.0.2", 11), ("16", 16)])
def test_an_old_java(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, release: int
) -> None:
    java = fake_java(tmp_path, version)
    put_on_path(monkeypatch, java)
    with pytest.raises(UserError) as raised:
        find_java()
    assert raised.value.what == f"Spark needs Java 17 or newer; {java} is Java {release}"
    assert raised.value.exit_code == 2
