"""The JVM libraries: fetched once by the Ivy inside PySpark, then taken from the user's cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from meltline.errors import RunError

MANIFEST = Path(__file__).with_name("ivy.xml")
ALWAYS = "core"


def cache_home() -> Path:
    """MELTLINE_CACHE, or `meltline` in the user's cache directory."""
    if home := os.environ.get("MELTLINE_CACHE"):
        return Path(home)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "meltline"


def load_jars(connectors: Iterable[str], java: Path) -> list[Path]:
    """Paths of the jars for `core` and the named connectors, downloading what is missing.

    Safe to call from several processes at once; a jar is either whole or not there.
    """
    wanted = [ALWAYS, *sorted(set(connectors) - {ALWAYS})]
    digest = hashlib.sha256(MANIFEST.read_bytes()).hexdigest()[:12]
    home = cache_home() / f"jars-{digest}"
    home.mkdir(parents=True, exist_ok=True)
    with _locked(home / ".lock"):
        for connector in wanted:
            if not (home / connector).is_dir():
                _retrieve(connector, home, java)
    return [jar for connector in wanted for jar in sorted((home / connector).glob("*.jar"))]


def _retrieve(connector: str, home: Path, java: Path) -> None:
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        pattern = f"{scratch}/{connector}/[artifact]-[revision].[ext]"
        command = [str(java), "-jar", str(ivy), "-ivy", str(MANIFEST), "-confs", connector,
                   "-retrieve", pattern]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        fetched = Path(scratch) / connector
        if done.returncode != 0 or not list(fetched.glob("*.jar")):
            raise RunError(
                f"the JVM libraries of '{connector}' could not be fetched\n"
                + "\n".join(done.stdout.splitlines()[-8:]),
                hint="the machine must reach a Maven repository once; later runs use the cache",
            )
        fetched.rename(home / connector)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
