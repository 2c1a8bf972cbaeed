"""A redactor of its own for each test, and a pipeline file named `p.yaml` in an empty folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from meltline import redact
from meltline.config.file import PipelineFile, load_file

Load = Callable[[str], PipelineFile]


@pytest.fixture(autouse=True)
def no_secrets_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "_process", redact.Redactor())


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Loads a document from its text. Errors name it `p.yaml`."""
    monkeypatch.chdir(tmp_path)

    def load_text(text: str) -> PipelineFile:
        file = Path("p.yaml")
        file.write_text(text, encoding="utf-8")
        return load_file(file)

    return load_text
