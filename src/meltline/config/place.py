"""Where something stands in a pipeline file, for people: `orders.yaml:14 orders-in.sink[0]`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeAlias

DocPath: TypeAlias = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"[\w-]+")


def format_path(path: DocPath) -> str:
    """`sink[0].iceberg.schema`; a key with dots or spaces is written `storage["s3.region"]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not _PLAIN_KEY.fullmatch(part):
            text += f'["{part}"]'
        else:
            text += f".{part}" if text else part
    return text


def format_place(file: Path, line: int | None = None, path: DocPath = ()) -> str:
    where = str(file) if line is None else f"{file}:{line}"
    return f"{where} {format_path(path)}" if path else where
