"""Finds Java and says plainly what to do when it is missing or too old."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from meltline.errors import UserError

MINIMUM = 17
_HINT = "install a JDK or JRE 17 or newer and put `java` on PATH, or set JAVA_HOME to it"


def find_java() -> Path:
    """The `java` that Spark will use: JAVA_HOME first, then PATH. Raises UserError."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if found is None or not Path(found).exists():
        where = f"JAVA_HOME is {home}, and there is no bin/java in it" if home else "not on PATH"
        raise UserError(f"Spark needs Java {MINIMUM} or newer, and none was found ({where})",
                        hint=_HINT)
    java = Path(found)
    version = parse_version(_version_text(java))
    if version < MINIMUM:
        raise UserError(f"Spark needs Java {MINIMUM} or newer; {java} is Java {version}",
                        hint=_HINT)
    return java


def parse_version(text: str) -> int:
    """The feature release in the output of `java -version`: 17 of `17.0.15`, 8 of `1.8.0_292`."""
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else 0


def _version_text(java: Path) -> str:
    done = subprocess.run([str(java), "-version"], capture_output=True, text=True, check=False)
    return done.stderr + done.stdout
