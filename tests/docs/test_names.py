"""Every name that users meet has its line in the docs: commands, metrics, properties, and so on."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import get_args

import pytest
from prometheus_client.metrics_core import Metric
from pydantic import BaseModel

from meltline.cli.main import parser
from meltline.config.fields import keys, models
from meltline.config.processors import ProcessorBlock
from meltline.config.sink_iceberg import DeleteMode, IcebergSink
from meltline.config.table_block import TableBlock
from meltline.engine import crash
from meltline.engine.token import Token
from meltline.expressions.functions import SIGNATURES
from meltline.expressions.syntax import TYPE_NAMES
from meltline.kernels.operation import WORDS
from meltline.kernels.write_settings import REFUSED
from meltline.model.dead_letter import DEAD_LETTERS
from meltline.observe.metrics import Metrics
from meltline.sinks.iceberg import summary
from tests.docs.pages import ROOT, read, rows_starting_with

CLI = "docs/reference/cli.md"
EXPRESSIONS = "docs/reference/expressions.md"
GUARANTEES = "docs/guarantees.md"
OPERATIONS = "docs/operations.md"
PROCESSORS = "docs/reference/processors.md"
CHANGES = "docs/changes.md"
TABLES = "docs/tables.md"
PROPERTIES = "docs/reference/table-properties.md"


def commands() -> dict[str, argparse.ArgumentParser]:
    choices: dict[str, argparse.ArgumentParser] = {}
    for action in parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            choices.update(action.choices)
    return choices


def options(command: argparse.ArgumentParser) -> list[str]:
    found = [name for action in command._actions for name in action.option_strings]
    return [name for name in found if name.startswith("--")]


def section(page: str, heading: str) -> str:
    """The text of a page from a heading to the next one of the same depth."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", read(page), re.M | re.S)
    assert found, f"{page} has no heading {heading!r}"
    return found[1]


@pytest.mark.parametrize("name", commands())
def test_a_command_has_its_section_with_an_example_and_every_option(name: str) -> None:
    text = section(CLI, f"`meltline {name}`")
    assert f"meltline {name} orders.yaml" in text
    for option in options(commands()[name]):
        if option != "--help":
            assert re.search(rf"^\| `{option}[ `]", text, re.M), f"{option} has no line"


@pytest.mark.parametrize("option", options(parser()))
def test_an_option_of_the_program_has_its_line(option: str) -> None:
    assert rows_starting_with(CLI, option)


def metrics() -> list[Metric]:
    return list(Metrics().registry.collect())


def metric_name(metric: Metric) -> str:
    return f"{metric.name}_total" if metric.type == "counter" else metric.name


@pytest.mark.parametrize("metric", metrics(), ids=metric_name)
def test_a_metric_has_its_line_with_its_type(metric: Metric) -> None:
    (row,) = rows_starting_with(OPERATIONS, metric_name(metric))
    assert f"| {metric.type} |" in row


def test_the_docs_know_no_other_metric() -> None:
    names = set(re.findall(r"^\| `(meltline_\w+)`", read(OPERATIONS), re.M))
    assert names == {metric_name(metric) for metric in metrics()}


def property_names() -> Iterator[str]:
    for name, value in vars(summary).items():
        if name.isupper() and name != "PREFIX" and isinstance(value, str):
            yield value


@pytest.mark.parametrize("name", sorted(set(property_names())))
def test_a_name_in_tables_has_its_line(name: str) -> None:
    rows = [line for line in read(PROPERTIES).splitlines() if line.startswith(f"| `{name}")]
    assert rows


def test_the_docs_know_no_other_name_in_tables() -> None:
    known = set(property_names())
    for name in re.findall(r"^\| `(meltline\.[\w.<>-]+)`", read(PROPERTIES), re.M):
        plain = re.sub(r"<.*", "", name)
        assert plain in known or plain.startswith(summary.SOURCE), name


@pytest.mark.parametrize("name", Token.__dataclass_fields__)
def test_a_part_of_the_token_is_named(name: str) -> None:
    assert f"`{name}`" in read(PROPERTIES)


@pytest.mark.parametrize("name", ProcessorBlock.model_fields)
def test_a_processor_is_described(name: str) -> None:
    assert f"`{name}`" in read(PROCESSORS)
    if name != "convert_entry_type":
        assert section(PROCESSORS, f"`{name}`")


def processor_options(block: type[BaseModel]) -> Iterator[str]:
    for name, field in block.model_fields.items():
        yield from keys(field, name)
        for inner in models(field.annotation):
            yield from processor_options(inner)


@pytest.mark.parametrize("name", ProcessorBlock.model_fields)
def test_an_option_of_a_processor_is_named_in_its_section(name: str) -> None:
    (block,) = models(ProcessorBlock.model_fields[name].annotation)
    text = section(PROCESSORS, f"`{name}`" if name != "convert_entry_type" else "`convert_type`")
    for option in processor_options(block):
        assert re.search(rf"[`.]{option}[`\[]", text), f"{option} is not named"


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_function_has_its_line(name: str) -> None:
    rows = [line for line in read(EXPRESSIONS).splitlines() if line.startswith(f"| `{name}(")]
    assert len(rows) == 1


@pytest.mark.parametrize("name", TYPE_NAMES)
def test_a_type_of_typeof_is_named(name: str) -> None:
    assert f"`{name}`" in read(EXPRESSIONS)


@pytest.mark.parametrize("point", crash.POINTS)
def test_a_crash_point_has_its_line(point: str) -> None:
    assert len(rows_starting_with(GUARANTEES, point)) == 1
    assert crash.VARIABLE in read(GUARANTEES)


@pytest.mark.parametrize("column", DEAD_LETTERS.names)
def test_a_column_of_dead_letters_has_its_line(column: str) -> None:
    assert rows_starting_with(GUARANTEES, column)


def test_a_decision_is_on_the_list() -> None:
    pages = sorted(page.name for page in (ROOT / "docs" / "decisions").glob("0*.md"))
    listed = re.findall(r"\((0\d{3}-[\w-]+\.md)\)", read("docs/decisions/README.md"))
    assert listed == pages


@pytest.mark.parametrize("folder", sorted(p.name for p in (ROOT / "src/meltline").iterdir()))
def test_a_folder_of_the_package_is_on_the_map(folder: str) -> None:
    path = ROOT / "src" / "meltline" / folder
    if path.is_dir() and any(path.glob("*.py")):
        assert f"| `{folder}/" in read("docs/explain/architecture.md")


@pytest.mark.parametrize("target", re.findall(r"^([a-z-]+):.*## ", read("Makefile"), re.M))
def test_a_target_with_a_text_is_phony(target: str) -> None:
    assert re.search(rf"^\.PHONY:.*\b{target}\b", read("Makefile"), re.M)


def test_every_word_of_an_operation_and_every_delete_mode_is_explained() -> None:
    words = {word for listed in WORDS.values() for word in listed}
    table = section(CHANGES, "Operations")
    assert [word for word in sorted(words) if f"`{word}`" not in table] == []
    modes = section(CHANGES, "Delete modes")
    assert [mode for mode in get_args(DeleteMode) if f"| `{mode}` |" not in modes] == []


def test_every_key_that_names_tables_is_explained() -> None:
    text = section(CHANGES, "Many tables")
    keys = [*IcebergSink.model_fields, *TableBlock.model_fields]
    wanted = [key for key in keys if "table" in key and key not in (
        "table_properties", "table_schema", "table_location")]
    assert [key for key in [*wanted, "route_field", "route_regex"] if f"`{key}" not in text] == []


def test_every_refused_write_property_is_named() -> None:
    text = section(TABLES, "Write properties")
    assert [key for key in REFUSED if f"`{key}`" not in text] == []
