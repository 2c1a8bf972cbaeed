"""The configuration reference, a Markdown page made from the models.

`python -m meltline.config.reference > docs/reference/configuration.md`
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from meltline.config.duration import format_duration
from meltline.config.fields import is_list, keys, models, options, type_words
from meltline.config.pipeline import PipelineBlock
from meltline.config.size import format_size
from meltline.config.spark import SparkBlock

_INTRO = """\
# Configuration reference

<!-- Made from the models: python -m meltline.config.reference > docs/reference/configuration.md -->

A pipeline file is YAML. Every top-level key is the name of a pipeline, except:

| key | type | default | meaning |
|---|---|---|---|
| `spark` | block | | Settings of the Spark application that all pipelines of the file share. |
| `version` | `"2"` | `"2"` | The version of the file's format. |

The names `data-prepper`, `dataPrepper`, `core` and `dlq_pipeline` are reserved. A name is made of
letters, digits, `-`, `_` and `.`.

An unknown key, a wrong type or an impossible combination is an error that names the file, the line
and the path in the document. Paths on this page are below the name of the pipeline; `[]` stands for
the entries of a list.

**Durations** are `500ms`, `30s`, `5m`, `1h`, `1d`, or ISO 8601 such as `PT30S`, `PT5M`, `P1D`,
`PT20.345S`.

**Sizes** are `10b`, `512kb`, `64mb`, `1.5gb` (1 kb is 1024 bytes), or a plain number of bytes.

**Secrets** stay out of the file: `${env:NAME}` is replaced by the environment variable and
`${file:/path}` by the content of the file, in any value, alone or as a part of it. Neither these
nor values whose keys look like secrets (`password`, `token`, `s3.secret-access-key`, ...) are ever
printed. Other `${...}` are format strings of the pipeline and stay as they are.

**YAML** is read by version 1.2: only `true` and `false` are switches, `yes` and `on` are texts.
Anchors, aliases and merge keys (`<<`) work. A key that is written twice is an error.
"""


def render_reference() -> str:
    """The whole page. The same models give the same text."""
    sections: dict[type[BaseModel], str] = {}
    _collect(PipelineBlock, "", sections)
    _collect(SparkBlock, "spark", sections)
    parts = [_INTRO, *(_section(model, path, sections) for model, path in sections.items())]
    return "\n".join(parts)


def _collect(model: type[BaseModel], path: str, sections: dict[type[BaseModel], str]) -> None:
    """Every block below a model with the first path it stands at."""
    if model in sections or not _has_keys(model):
        return
    sections[model] = path
    for key, field in _fields(model):
        for child in models(field.annotation):
            _collect(child, _join(path, key, field), sections)


def _has_keys(model: type[BaseModel]) -> bool:
    return bool(model.model_fields)


def _fields(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        yield keys(field, name)[0], field


def _join(path: str, key: str, field: FieldInfo) -> str:
    entry = f"{key}[]" if any(map(is_list, options(field.annotation))) else key
    return f"{path}.{entry}" if path else entry


def _section(model: type[BaseModel], path: str, sections: Mapping[type[BaseModel], str]) -> str:
    intro = " ".join((model.__doc__ or "").split("\n\n")[0].split())
    lines = [f"## {_title(path)}", "", *([intro, ""] if intro else [])]
    lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
    for key, field in _fields(model):
        cells = [
            f"`{path}.{key}`" if path else f"`{key}`",
            _type(field, sections),
            _default(field),
            field.description or "",
        ]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    if model.model_config.get("extra") == "allow":
        lines.append(f"| `{path}.…` | text | | Any other key is passed on as it is. |")
    return "\n".join([*lines, ""])


def _title(path: str) -> str:
    return f"`{path}`" if path else "Pipeline"


def _type(field: FieldInfo, sections: Mapping[type[BaseModel], str]) -> str:
    words = type_words(field.annotation, field.metadata)
    targets = [sections[model] for model in models(field.annotation) if model in sections]
    return f"[{words}](#{_anchor(targets[0])})" if len(targets) == 1 else words


def _anchor(path: str) -> str:
    return re.sub(r"[^\w\- ]", "", path.lower())


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None or value is PydanticUndefined:
        return ""
    words = type_words(field.annotation, field.metadata)
    if words == "size":
        return f"`{format_size(value)}`"
    if words.startswith("list") and not value:
        return "`[]`"
    return f"`{_written(value)}`"


def _written(value: Any) -> str:
    """A default as one would write it in YAML."""
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, BaseModel):
        blocks = {key: getattr(value, name) for name, key in _named(value)}
        return _written({key: block for key, block in blocks.items() if block is not None})
    if isinstance(value, Mapping):
        entries = ", ".join(f"{key}: {_written(entry)}" for key, entry in value.items())
        return "{" + entries + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_written, value)) + "]"
    return '""' if value == "" else str(value)


def _named(block: BaseModel) -> Iterator[tuple[str, str]]:
    for name, field in type(block).model_fields.items():
        yield name, keys(field, name)[0]


if __name__ == "__main__":
    sys.stdout.write(render_reference())
