"""The JVM libraries in the user's cache. Nothing is fetched here: the cache is prepared."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from meltline.errors import RunError
from meltline.spark.jars import MANIFEST, cache_home, load_jars

DIGEST = hashlib.sha256(MANIFEST.read_bytes()).hexdigest()[:12]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MELTLINE_CACHE", str(tmp_path))
    return tmp_path / f"jars-{DIGEST}"


def prepare(home: Path, connector: str, *names: str) -> list[Path]:
    (home / connector).mkdir(parents=True)
    jars = [home / connector / name for name in names]
    for jar in jars:
        jar.write_bytes(b"PK")
    return jars


def fake_ivy(folder: Path, script: str) -> Path:
    """A `java` that runs a script instead of Ivy; `$8` is where the jars are wanted."""
    java = folder / "java"
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    return java


CACHES = [
    ({"MELTLINE_CACHE": "/a"}, "/a"),
    ({"MELTLINE_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
    ({"XDG_CACHE_HOME": "/b"}, "/b/meltline"),
    ({"HOME": "/c"}, "/c/.cache/meltline"),
    ({"MELTLINE_CACHE": "", "XDG_CACHE_HOME": "", "HOME": "/c"}, "/c/.cache/meltline"),
]


@pytest.mark.parametrize(("environment", "expected"), CACHES, ids=str)
def test_where_the_cache_is(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str
) -> None:
    for name in ("MELTLINE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache_home() == Path(expected)


def test_what_is_in_the_cache_is_not_fetched(home: Path, tmp_path: Path) -> None:
    core = prepare(home, "core", "a-1.jar", "b-2.jar")
    aws = prepare(home, "aws", "c-3.jar")
    (home / "core" / "notes.txt").write_text("no jar")
    missing = tmp_path / "no-java-needed"
    assert load_jars([], missing) == core
    assert load_jars(["aws"], missing) == core + aws
    assert load_jars(["aws", "core", "aws"], missing) == core + aws


def test_another_manifest_is_another_cache(home: Path) -> None:
    assert home.name == f"jars-{DIGEST}"
    assert b"iceberg-spark-runtime" in MANIFEST.read_bytes()


def test_what_is_missing_is_fetched_once(home: Path, tmp_path: Path) -> None:
    core = prepare(home, "core", "a-1.jar")
    log = tmp_path / "calls"
    java = fake_ivy(tmp_path, f'echo "$6" >> {log}\n'
                              'mkdir -p "$(dirname "$8")" && echo PK > "$(dirname "$8")/x-1.jar"')
    for _ in range(2):
        assert load_jars(["aws"], java) == [*core, home / "aws" / "x-1.jar"]
    assert log.read_text().split() == ["aws"]


FAILURES = {
    "it fails": "echo one; echo unresolved dependency; exit 1",
    "it brings nothing": "echo unresolved dependency; exit 0",
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_failed_fetch_says_why_and_leaves_nothing(home: Path, tmp_path: Path, case: str) -> None:
    java = fake_ivy(tmp_path, FAILURES[case])
    with pytest.raises(RunError, match=r"'core' could not be fetched(\n.*)*unresolved") as raised:
        load_jars([], java)
    assert "must reach a Maven repository" in str(raised.value.hint)
    assert [path.name for path in home.iterdir()] == [".lock"]


FETCH = """
import sys
from pathlib import Path
from meltline.spark.jars import load_jars
print([jar.name for jar in load_jars([], Path(sys.argv[1]))])
"""


def test_two_processes_fetch_once(home: Path, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    java = fake_ivy(tmp_path, f'echo called >> {log}\n'
                              'mkdir -p "$(dirname "$8")" && echo PK > "$(dirname "$8")/x-1.jar"')
    both = [subprocess.Popen([sys.executable, "-c", FETCH, str(java)], stdout=subprocess.PIPE,
                             text=True) for _ in range(2)]
    assert [process.communicate(timeout=60)[0].strip() for process in both] == ["['x-1.jar']"] * 2
    assert log.read_text().split() == ["called"]
