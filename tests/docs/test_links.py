"""Every link of every page leads to a file, and to a heading where it names one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, links

LOCAL = [
    (page, target)
    for page in PAGES
    for target in links(page)
    if not target.startswith(("http://", "https://"))
]


@pytest.mark.parametrize(
    ("page", "target"), LOCAL, ids=[f"{page.relative_to(ROOT)}->{target}" for page, target in LOCAL]
)
def test_a_link_leads_somewhere(page: Path, target: str) -> None:
    path, _, anchor = target.partition("#")
    found = (page.parent / path).resolve() if path else page
    assert found.exists(), f"{target} does not exist"
    assert found.is_relative_to(ROOT), f"{target} is outside of the project"
    if anchor:
        assert anchor in anchors(found), f"{found.name} has no heading for #{anchor}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        for target in links(page):
            found = (page.parent / target.partition("#")[0]).resolve()
            if found.suffix == ".md" and found.exists():
                waiting.append(found)
    assert set(PAGES) - reached == set()
