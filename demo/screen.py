"""Plain text for a terminal; bold only where there is one."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_BOLD = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if _BOLD else text


def title(text: str) -> None:
    print(f"\n{bold(text)}", flush=True)


def say(text: str) -> None:
    print(f"   {text}", flush=True)


def show_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns as wide as their widest value; numbers to the right."""
    texts = [[_text(value) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(header), *texts]) for i in range(len(header))]
    right = [all(isinstance(row[i], int | float) for row in rows) for i in range(len(header))]
    for line in [list(header), *texts]:
        cells = [
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        ]
        say("  ".join(cells).rstrip())


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
