"""The `file` sink: events as lines of JSON, for people and for tests."""

from __future__ import annotations

from pydantic import Field

from meltline.config.properties import Properties, PropertyMap
from meltline.config.scalars import Text
from meltline.config.strict import Strict


class FileSink(Strict):
    """One NDJSON file per lane and epoch, put in place when it is complete.

    Each line is `{"metadata": {...}, "document": {...}}`.
    """

    path: Text = Field(
        description="The folder to write to, local or a URL such as `s3://bucket/changes`."
    )
    storage: PropertyMap = Field(
        default=Properties(), description="Iceberg FileIO properties for the object store."
    )
    routes: tuple[Text, ...] = Field(
        default=(),
        description="The routes whose events this sink takes; `_default` takes the events of no "
        "route. Empty for every event.",
    )
