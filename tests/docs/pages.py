"""The project's Markdown pages, and what is inside of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Fence:
    """A block of code on a page. `line` is that of its first line."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def read(name: str) -> str:
    """A page by its path below the root."""
    return (ROOT / name).read_text(encoding="utf-8")


def fences(page: Path) -> list[Fence]:
    text = page.read_text(encoding="utf-8")
    return [
        Fence(page, text[: found.start()].count("\n") + 2, found[1], found[2])
        for found in _FENCE.finditer(text)
    ]


def links(page: Path) -> list[str]:
    """Targets of all links outside of code blocks."""
    return _LINK.findall(_prose(page))


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as they are used after `#`."""
    return {_anchor(found) for found in _HEADING.findall(_prose(page))}


def rows_starting_with(page: str, name: str) -> list[str]:
    """Table rows whose first cell is the name in backticks."""
    return [line for line in read(page).splitlines() if line.startswith(f"| `{name}`")]


def _prose(page: Path) -> str:
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def _anchor(heading: str) -> str:
    plain = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return plain.replace(" ", "-")
