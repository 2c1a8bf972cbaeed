"""A pipeline file as values that know their line, so that every error can point at one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yaml.error import MarkedYAMLError, YAMLError
from yaml.nodes import Node
from yaml.reader import ReaderError

from meltline.config.place import DocPath, format_place
from meltline.config.refused import type_found
from meltline.config.suggest import closest
from meltline.config.yaml_nodes import Builder, NodeError, compose
from meltline.errors import ConfigError


@dataclass(frozen=True)
class Document:
    """The root map of a pipeline file.

    `lines` knows every path of the document; `sensitive` are the paths whose values must not be
    shown: they hold a secret, or their key says so.
    """

    file: Path
    root: Mapping[str, Any]
    lines: Mapping[DocPath, int]
    sensitive: frozenset[DocPath] = frozenset()

    def at(self, path: DocPath) -> str:
        """`file:line path`. A path that is not written down gets the line of its nearest parent."""
        return format_place(self.file, self.line(path), path)

    def line(self, path: DocPath) -> int:
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_document(file: Path) -> Document:
    """Parse a file. Raises ConfigError when it cannot be read or is not one YAML map."""
    return parse_document(_read_text(file), file)


def parse_document(text: str, file: Path) -> Document:
    """Parse the text of a file. `file` is only named in errors."""
    node = _compose(text, file)
    if node is None:
        raise ConfigError("the file is empty", at=str(file), hint=_SHAPE)
    builder = Builder()
    try:
        root = builder.build(node)
    except NodeError as error:
        place = format_place(file, error.line, error.path)
        raise ConfigError(error.what, at=place, hint=error.hint) from None
    except RecursionError:
        raise ConfigError("the document is nested too deeply", at=str(file)) from None
    if root is None:
        raise ConfigError("the file is empty", at=str(file), hint=_SHAPE)
    if not isinstance(root, dict):
        what = f"expected a map of pipelines, found {type_found(root)}"
        raise ConfigError(what, at=format_place(file, builder.lines[()]), hint=_SHAPE)
    return Document(file, root, builder.lines)


_SHAPE = "a pipeline file maps the name of each pipeline to its source and sink"


def _read_text(file: Path) -> str:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise ConfigError("there is no such file", at=str(file), hint=_near_file(file)) from None
    except OSError as error:
        raise ConfigError(f"the file cannot be read: {error.strerror}", at=str(file)) from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        place = format_place(file, line)
        raise ConfigError("the file is not UTF-8 text", at=place) from None


def _near_file(file: Path) -> str | None:
    try:
        names = [entry.name for entry in file.parent.iterdir() if entry.suffix in (".yaml", ".yml")]
    except OSError:
        return None
    near = closest(file.name, names)
    return f'did you mean "{near}"?' if near else None


def _compose(text: str, file: Path) -> Node | None:
    try:
        return compose(text)
    except MarkedYAMLError as error:
        raise _syntax_error(error, file) from None
    except ReaderError as error:
        line = text[: int(error.position)].count("\n") + 1
        what = f"the character U+{int(error.character):04X} is not allowed in YAML"
        raise ConfigError(what, at=format_place(file, line)) from None
    except YAMLError:
        raise ConfigError("the file is not YAML", at=str(file)) from None
    except RecursionError:
        raise ConfigError("the document is nested too deeply", at=str(file)) from None


def _syntax_error(error: MarkedYAMLError, file: Path) -> ConfigError:
    mark = error.problem_mark or error.context_mark
    problem = error.problem or error.context or "unreadable"
    hint = None
    if "'\\t'" in problem:
        hint = "indent with spaces: YAML does not allow tabs"
    elif "expected a single document" in (error.context or ""):
        problem, hint = "more than one document in the file", "remove the --- line"
    line = mark.line + 1 if mark else None
    return ConfigError(f"not valid YAML: {problem}", at=format_place(file, line), hint=hint)
