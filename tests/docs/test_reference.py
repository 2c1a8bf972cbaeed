"""The reference page says what the models say, about every key."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from meltline.config.fields import models
from meltline.config.pipeline import PipelineBlock
from meltline.config.reference import render_reference
from meltline.config.spark import SparkBlock

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "configuration.md"


def blocks_below(*roots: type[BaseModel]) -> list[type[BaseModel]]:
    found: dict[type[BaseModel], None] = {}
    waiting = list(roots)
    while waiting:
        block = waiting.pop()
        if block not in found:
            found[block] = None
            for field in block.model_fields.values():
                waiting += models(field.annotation)
    return sorted(found, key=lambda block: block.__name__)


BLOCKS = blocks_below(PipelineBlock, SparkBlock)


def test_the_page_is_up_to_date() -> None:
    hint = "run: python -m meltline.config.reference > docs/reference/configuration.md"
    assert PAGE.read_text(encoding="utf-8") == render_reference(), hint


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.__name__)
def test_every_key_is_described(block: type[BaseModel]) -> None:
    for name, field in block.model_fields.items():
        assert field.description, f"{block.__name__}.{name} has no description"
        assert field.description.endswith("."), f"{block.__name__}.{name}: not a sentence"


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.__name__)
def test_every_key_is_on_the_page(block: type[BaseModel]) -> None:
    page = render_reference()
    for name, field in block.model_fields.items():
        key = field.alias or name
        assert f".{key}` |" in page or f"| `{key}` |" in page
