"""File access in workers and driver: every object store, by Iceberg's property names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pyarrow.fs import FileSystem, S3FileSystem
from pyiceberg.io import S3_ENDPOINT
from pyiceberg.io.pyarrow import PyArrowFileIO


class Storage(PyArrowFileIO):
    """pyiceberg's file access, with one request per small file.

    Arrow writes an S3 object in three requests (create, part, complete) whatever its size, unless
    it may put off the first one until it knows how much there is.
    """

    def _initialize_s3_fs(self, netloc: str | None) -> FileSystem:
        if S3_ENDPOINT in self.properties:
            # servers other than Amazon's trip over checksums in a trailer, the SDK's default
            os.environ.setdefault("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required")
        filesystem = super()._initialize_s3_fs(netloc)
        rebuild: Any = filesystem.__reduce__()
        make, (settings,) = rebuild
        if make == S3FileSystem._reconstruct:  # noqa: SLF001
            return make({**settings, "allow_delayed_open": True})
        return filesystem


def open_storage(properties: Mapping[str, str]) -> Storage:
    return Storage(dict(properties))
