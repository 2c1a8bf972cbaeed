"""Decompressing files as a stream."""

from __future__ import annotations

import gzip
import zlib
from typing import Any, BinaryIO, cast

import pyarrow as pa

from meltline.codecs.records import ByteStream, Stream, Unreadable
from meltline.codecs.snappy import SnappyStream

COMPRESSIONS = ("none", "gzip", "zstd", "snappy", "automatic")
_SUFFIXES = {
    ".gz": "gzip",
    ".gzip": "gzip",
    ".zst": "zstd",
    ".zstd": "zstd",
    ".snappy": "snappy",
}


def compression_of(path: str, setting: str) -> str:
    """What a file is compressed with: `automatic` goes by the suffix of its name."""
    if setting != "automatic":
        return setting
    name = path.lower()
    return next((found for suffix, found in _SUFFIXES.items() if name.endswith(suffix)), "none")


def decompressed(raw: ByteStream, compression: str) -> ByteStream:
    """The content of a file. Reading raises Unreadable where it is cut off or corrupt.

    Files made of several gzip members or zstd frames are read to their end.
    """
    if compression == "gzip":
        return _Checked(gzip.GzipFile(fileobj=cast(BinaryIO, raw)))
    if compression == "zstd":
        return _Checked(pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd"))
    if compression == "snappy":
        return SnappyStream(raw)
    return raw


class _Checked(Stream):
    """Tells damaged content, which stays damaged, from trouble with reading."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def readinto(self, buffer: Any, /) -> int:
        try:
            return self._inner.readinto(buffer) or 0
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise Unreadable(f"the gzip data is cut off or corrupt ({error})") from error
        except OSError as error:
            # Arrow knows no other kind of error, only other words
            if "ZSTD" in str(error) or "Truncated compressed" in str(error):
                raise Unreadable(f"the zstd data is cut off or corrupt ({error})") from error
            raise
