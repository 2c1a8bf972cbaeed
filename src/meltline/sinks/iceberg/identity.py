"""Which columns tell the rows of a table apart. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from pyiceberg.schema import Schema

from meltline.kernels.spelling import spell_as


def choose_identifiers(
    told: Sequence[str], source: Sequence[str], columns: Sequence[str], any_case: bool,
    renamed: Callable[[str], str] = lambda name: name,
) -> list[str]:
    """Those that the sink was told. Else the source's own, if the table has all of them. Else
    none: the table's identifier fields serve.

    `columns` are the table's own, `renamed` says what became of one that is not among them."""

    def spelled(name: str) -> str:
        return spell_as(name, columns) if any_case else name

    chosen = [spelled(name) for name in told]
    if chosen:
        return [name if name in columns else renamed(name) for name in chosen]
    theirs = [spelled(name) for name in source]
    return theirs if set(theirs) <= set(columns) else []


def name_now(name: str, schema: Schema, earlier: Sequence[str]) -> str:
    """What a column is called that had this name in an earlier schema (Iceberg's JSON, newest
    first), as the source finds its own. The name itself when there is no such column."""
    top = {field.field_id: field.name for field in schema.fields}
    for text in earlier:
        for field in json.loads(text)["fields"]:
            if field["name"] == name and int(field["id"]) in top:
                return top[int(field["id"])]
    return name
