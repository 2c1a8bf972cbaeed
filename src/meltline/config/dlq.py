"""Where rejected events go."""

from __future__ import annotations

from pydantic import Field

from meltline.config.catalog import CatalogBlock
from meltline.config.identifier import TableIdentifier
from meltline.config.one_kind import OneKind
from meltline.config.properties import Properties, PropertyMap
from meltline.config.scalars import Text
from meltline.config.strict import Strict


class IcebergDlq(Strict):
    """Rejected events as rows of an Iceberg table, which is created when it is missing."""

    table_identifier: TableIdentifier = Field(description="The table that takes rejected events.")
    catalog: CatalogBlock | None = Field(
        default=None, description="The catalog of that table. Without it, the sink's own."
    )


class FileDlq(Strict):
    """Rejected events as files in Data Prepper's DLQ object form."""

    path: Text = Field(
        description="The folder to write to, local or a URL such as `s3://bucket/dlq`."
    )
    storage: PropertyMap = Field(
        default=Properties(), description="Iceberg FileIO properties for the object store."
    )


class S3Dlq(Strict):
    """Rejected events as objects in Data Prepper's DLQ object form, with its key names."""

    bucket: Text = Field(description="The bucket to write to.")
    key_path_prefix: str = Field(
        default="", description="What the names of the objects begin with."
    )
    region: Text | None = Field(default=None, description="The bucket's region.")
    storage: PropertyMap = Field(
        default=Properties(), description="Iceberg FileIO properties for the object store."
    )


class DlqBlock(OneKind):
    """Exactly one place for rejected events: the event, the reason, and its source position."""

    iceberg: IcebergDlq | None = Field(default=None, description="An Iceberg table.")
    file: FileDlq | None = Field(default=None, description="Files in a folder.")
    s3: S3Dlq | None = Field(default=None, description="Objects in a bucket.")
