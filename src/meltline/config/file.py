"""A pipeline file, loaded: the only door from YAML to the rest of the program."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from meltline.config.document import Document, read_document
from meltline.config.notices import notices
from meltline.config.pipeline import PipelineBlock
from meltline.config.place import format_place
from meltline.config.problems import Problem, to_error, validated
from meltline.config.refused import type_found
from meltline.config.secrets import resolve_secrets
from meltline.config.spark import SparkBlock
from meltline.config.suggest import choice_hint, closest
from meltline.errors import ConfigError

_OWN_KEYS = ("spark", "version")
_RESERVED = {
    "data-prepper": "Data Prepper keeps this name for itself",
    "dataPrepper": "Data Prepper keeps this name for itself",
    "core": "Data Prepper keeps this name for itself",
    "dlq_pipeline": "a pipeline for rejected events is not supported; use the key dlq",
}
_NAME = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True)
class PipelineFile:
    """Everything a file says, checked. `warnings` are lines for people, each with its place."""

    path: Path
    pipelines: Mapping[str, PipelineBlock]
    spark: SparkBlock
    warnings: tuple[str, ...] = ()

    def select(self, name: str | None = None) -> dict[str, PipelineBlock]:
        """The pipelines to run: the one named, or all. Raises ConfigError for an unknown name."""
        if name is None:
            return dict(self.pipelines)
        if name not in self.pipelines:
            hint = choice_hint(name, self.pipelines, "pipelines")
            raise ConfigError(f'there is no pipeline "{name}"', at=str(self.path), hint=hint)
        return {name: self.pipelines[name]}


def load_file(path: Path) -> PipelineFile:
    """Read, resolve secrets, check. Raises one ConfigError with everything that is wrong.

    Secrets come first: without them, what else is wrong cannot be told.
    """
    problems: list[Problem] = []
    document = resolve_secrets(read_document(path), problems)
    if not problems:
        loaded = _check(document, problems)
    if problems:
        raise to_error(document, problems)
    return loaded


def _check(document: Document, problems: list[Problem]) -> PipelineFile:
    spark = SparkBlock()
    pipelines: dict[str, PipelineBlock] = {}
    warnings: list[str] = []
    for key, value in document.root.items():
        if key == "version":
            _check_version(value, problems)
        elif key == "spark":
            spark = validated(SparkBlock, value, document, (key,), problems) or spark
        elif _check_name(key, value, problems):
            pipeline = validated(PipelineBlock, value, document, (key,), problems)
            if pipeline is not None:
                pipelines[key] = pipeline
                warnings += notices(document, key, pipeline)
    if not problems and not pipelines:
        hint = "add a key with the name of the pipeline, and source and sink below it"
        raise ConfigError("the file holds no pipeline", at=format_place(document.file), hint=hint)
    return PipelineFile(document.file, MappingProxyType(pipelines), spark, tuple(warnings))


def _check_version(value: object, problems: list[Problem]) -> None:
    if value not in ("2", 2):
        what = "this version of the pipeline file is not supported"
        problems.append(Problem(what, ("version",), 'write version: "2" or remove the key'))


def _check_name(name: str, value: object, problems: list[Problem]) -> bool:
    """Whether the value is worth a look as a pipeline of that name."""
    if name in _RESERVED:
        what = f'"{name}" cannot be the name of a pipeline: {_RESERVED[name]}'
        problems.append(Problem(what, (name,)))
        return False
    if not isinstance(value, Mapping):
        near = closest(name, _OWN_KEYS)
        hint = f'did you mean "{near}"?' if near else "a pipeline is a map with source and sink"
        what = f'pipeline "{name}": expected a map, found {type_found(value)}'
        problems.append(Problem(what, (name,), hint))
        return False
    if not _NAME.fullmatch(name):
        # the name becomes a part of file and table names
        hint = "use letters, digits, and - _ . inside"
        problems.append(Problem(f'"{name}" cannot be the name of a pipeline', (name,), hint))
    return True
