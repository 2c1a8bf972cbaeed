"""Every pipeline in the docs loads, and so does the demo's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from meltline.config.file import load_file
from tests.docs.pages import PAGES, ROOT, Fence, fences
from tests.first_pipeline import ORDERS_IN

_VARIABLE = re.compile(r"\$\{env:(\w+)\}")
PIPELINES = [fence for page in PAGES for fence in fences(page) if fence.language == "yaml"]


@pytest.mark.parametrize("fence", PIPELINES, ids=str)
def test_a_pipeline_of_the_docs_loads(
    fence: Fence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in _VARIABLE.findall(fence.text):
        monkeypatch.setenv(name, "a value")
    file = tmp_path / "pipeline.yaml"
    file.write_text(fence.text, encoding="utf-8")
    loaded = load_file(file)
    assert loaded.pipelines
    assert loaded.warnings == ()


def test_the_pipeline_of_the_demo_loads() -> None:
    assert list(load_file(ROOT / "demo" / "pipeline.yaml").pipelines) == ["shop"]


def test_the_readme_has_the_first_pipeline_as_it_must_work() -> None:
    assert ORDERS_IN in [fence.text for fence in fences(ROOT / "README.md")]


def test_the_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text
    assert "make test" in text
