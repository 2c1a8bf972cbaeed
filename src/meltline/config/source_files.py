"""The `files` source: every file that matches is read exactly once."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from meltline.config.codec import CodecBlock, NdjsonCodec
from meltline.config.duration import Duration
from meltline.config.properties import Properties, PropertyMap
from meltline.config.refused import Refused
from meltline.config.scalars import Count, Text
from meltline.config.size import ByteSize
from meltline.config.strict import Strict

Compression = Literal["none", "gzip", "zstd", "snappy", "automatic"]


class FilesSource(Strict):
    """Reads files, each exactly once. A file whose name begins with `.` or `_` is never read."""

    paths: tuple[Text, ...] = Field(
        min_length=1,
        description="Which files to read: paths with `*`, `?`, `[...]` and `**`, local or as URLs "
        "such as `s3://bucket/in/*.ndjson`.",
    )
    codec: CodecBlock = Field(
        default_factory=lambda: CodecBlock(ndjson=NdjsonCodec()),
        description="How a file becomes events: `ndjson`, `json`, `csv` or `parquet`, "
        "as a name or as a map with the codec's settings.",
    )
    compression: Compression = Field(
        default="automatic",
        description="How files are compressed. `automatic` goes by the end of the file's name.",
    )
    polling_interval: Duration = Field(
        default=timedelta(seconds=30), description="How often to look for new files."
    )
    settle_time: Duration = Field(
        default=timedelta(seconds=1),
        description="A file is read only when it was last changed at least this long ago, "
        "so that a half-written file is left alone.",
    )
    max_files_per_epoch: Annotated[Count, Field(ge=1)] = Field(
        default=1000, description="The most files that one epoch takes."
    )
    max_bytes_per_epoch: Annotated[ByteSize, Field(ge=1)] = Field(
        default=10 * 1024**3,
        description="The most bytes that one epoch takes, by size on disk. "
        "A larger file is an epoch of its own.",
    )
    ignore_suffixes: tuple[Text, ...] = Field(
        default=(".tmp", ".part", ".partial", ".crdownload", "._COPYING_"),
        description="Files whose names end like this are still being written and are not read.",
    )
    missing_files: Literal["stop", "skip"] = Field(
        default="stop",
        description="What to do when a planned file is gone or has changed before it was read: "
        "stop with an error, or go on without it.",
    )
    storage: PropertyMap = Field(
        default=Properties(),
        description="Iceberg FileIO properties for the object store, such as `s3.endpoint`, "
        "`s3.region`, `s3.access-key-id`, `s3.secret-access-key`.",
    )
    max_line_size: Annotated[ByteSize, Field(ge=1)] = Field(
        default=64 * 1024**2,
        description="The longest line that is read as one event. A longer one is rejected.",
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.codec.kind == "parquet" and self.compression not in ("none", "automatic"):
            raise Refused(
                f"parquet files are compressed inside, not by {self.compression}",
                hint="remove compression",
                at=("compression",),
            )
        return self
