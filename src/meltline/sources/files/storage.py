"""Local disk and object stores behind one door, by Iceberg's FileIO property names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

import pyarrow as pa
from pyarrow import fs

from meltline.errors import Retryable, RunError

_LOCAL = "file"
_DENIED = re.compile("ACCESS_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|HTTP status 403")


class Storage:
    """Opens paths. Picklable: connections are made where they are used."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = dict(properties)
        self._filesystems: dict[tuple[str, str], fs.FileSystem] = {}
        self._file_io: Any = None

    def __getstate__(self) -> dict[str, str]:
        return self._properties

    def __setstate__(self, properties: dict[str, str]) -> None:
        self.__init__(properties)  # type: ignore[misc]

    def filesystem(self, path: str) -> tuple[fs.FileSystem, str, str]:
        """The file system of a path, the path within it, and what to put before such a path."""
        scheme, netloc, inner = split_path(path)
        if scheme == _LOCAL:
            return self._local(), inner, ""
        if scheme in ("hdfs", "viewfs"):
            return self._remote(scheme, netloc), inner, f"{scheme}://{netloc}"
        return self._remote(scheme, netloc), f"{netloc}{inner}", f"{scheme}://"

    def stat(self, path: str) -> tuple[int, int] | None:
        """Size and time of the last change in nanoseconds; None when there is no such file."""
        filesystem, inner, _ = self.filesystem(path)
        try:
            info = filesystem.get_file_info(inner)
        except OSError as error:
            refuse(error, path)
        return None if info.type != fs.FileType.File else (info.size, info.mtime_ns or 0)

    def open(self, path: str) -> pa.NativeFile:
        filesystem, inner, _ = self.filesystem(path)
        return filesystem.open_input_file(inner)

    def _local(self) -> fs.FileSystem:
        return self._filesystems.setdefault((_LOCAL, ""), fs.LocalFileSystem())

    def _remote(self, scheme: str, netloc: str) -> fs.FileSystem:
        key = (scheme, netloc)
        if key not in self._filesystems:
            if self._file_io is None:
                # imported late: it takes a second, and local files do without
                from meltline.kernels.storage import open_storage

                self._file_io = open_storage(self._with_region())
            self._filesystems[key] = self._file_io.fs_by_scheme(scheme, netloc)
        return self._filesystems[key]

    def _with_region(self) -> dict[str, str]:
        """A store of one's own has no region; without any, AWS would be asked for the bucket's."""
        properties = self._properties
        if "s3.endpoint" in properties and not {"s3.region", "client.region"} & set(properties):
            return {**properties, "s3.region": "us-east-1"}
        return properties


def split_path(path: str) -> tuple[str, str, str]:
    """Scheme, host or bucket, and the rest. Not urlparse: `?` and `#` are parts of a name here."""
    scheme, found, rest = path.partition("://")
    if not found:
        return _LOCAL, "", path
    if scheme == _LOCAL:
        return _LOCAL, "", rest.removeprefix("localhost")
    netloc, slash, inner = rest.partition("/")
    return scheme, netloc, slash + inner


def is_local(path: str) -> bool:
    return split_path(path)[0] == _LOCAL


def refuse(error: OSError, path: str) -> NoReturn:
    """Turn trouble with a store into an error for people."""
    text = str(error)
    if isinstance(error, PermissionError) or _DENIED.search(text):
        raise RunError(
            f"no permission to read {path}",
            hint="give the user of this process the right to list and read it"
            if is_local(path)
            else "check the keys and the policy of the bucket (storage: s3.access-key-id, ...)",
        ) from error
    raise Retryable(f"cannot read {path}: {text}") from error
