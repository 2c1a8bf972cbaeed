"""Where workers look for Python modules."""

from __future__ import annotations

import sys

_ARCHIVES = (".jar", ".zip")


def forget_archives() -> None:
    """To be called by every task, inside its worker.

    Spark puts archives on Python's path, one of its own jars among them, and lets Python read the
    directory of every archive that it remembers again at the start of each task, once for each
    package in it: 0.2 s for a task that does nothing. Python finds them again when a module is to
    be imported from there. Workers are used again, so what one task forgets the next one need not
    read."""
    for path in list(sys.path_importer_cache):
        if any(f"{ending}/" in f"{path}/" for ending in _ARCHIVES):
            del sys.path_importer_cache[path]
