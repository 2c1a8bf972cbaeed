"""Globs. `*`, `?` and `[..]` match within one name, `**` any number of directories.

As in a shell, a wildcard does not match a name that begins with a dot; nor, as Hadoop and Spark
have it, with an underscore. Write the first character to get such files (`_*.json`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

HIDDEN = (".", "_")
_NOT_HIDDEN = r"(?![._])"
_WILD = re.compile(r"[*?[]")
_TOKEN = re.compile(r"(?P<any>\*+)|(?P<one>\?)|\[(?P<set>!?\]?[^]/]*)\]|(?P<plain>.)", re.DOTALL)


def has_wildcard(text: str) -> bool:
    return _WILD.search(text) is not None


def compile_path(segments: Sequence[str]) -> re.Pattern[str]:
    """A pattern for paths relative to where the segments begin."""
    *directories, name = segments
    parts = [f"(?:{_NOT_HIDDEN}[^/]+/)*" if d == "**" else _segment(d) + "/" for d in directories]
    if name == "**":
        parts.append(f"(?:{_NOT_HIDDEN}[^/]+/)*{_NOT_HIDDEN}[^/]+")
    else:
        parts.append(_segment(name))
    return re.compile("".join(parts), re.DOTALL)


def _segment(segment: str) -> str:
    start = "" if segment.startswith(HIDDEN) else _NOT_HIDDEN
    return start + "".join(_token(found) for found in _TOKEN.finditer(segment))


def _token(found: re.Match[str]) -> str:
    if found["any"]:
        return "[^/]*"
    if found["one"]:
        return "[^/]"
    if found["plain"]:
        return re.escape(found["plain"])
    members = found["set"].replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]")
    if members.startswith("!"):
        return f"[^/{members[1:].replace('^', chr(92) + '^')}]"
    return f"[{members.replace('^', chr(92) + '^')}]"
