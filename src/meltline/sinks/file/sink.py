"""The sink `file`: every epoch is one file of JSON lines, there as a whole or not at all.

Tasks write parts under names of their own in `.staging/`; `publish` puts them together and moves
the whole to a name that follows from the epoch, so that a replay finds it done.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from meltline.engine.epoch import Epoch
from meltline.engine.report import SinkReport
from meltline.engine.sink import Published
from meltline.engine.token import Token
from meltline.engine.work import TaskPlace
from meltline.errors import Retryable, RunError
from meltline.kernels.convert import REJECTS
from meltline.kernels.document_json import object_json
from meltline.kernels.storage import open_storage
from meltline.model.event import META, ROW, Shape

BLOCK = 8 << 20


@dataclass
class FileSink:
    """See engine.sink.Sink. `location` is a folder or a URL such as `s3://bucket/changes`."""

    location: str
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.location

    def check(self) -> None:
        filesystem, path = _filesystem(self)
        filesystem.create_dir(path, recursive=True)

    def token(self, pipeline: str, lane: str) -> Token | None:  # noqa: ARG002
        """Files carry no token: their names alone make publishing them twice harmless."""
        return None

    def find(self, epoch: Epoch) -> Published | None:
        filesystem, root = _filesystem(self)
        if not _exists(filesystem, f"{root}/{file_name(epoch)}"):
            return None
        return Published(self.location, None, repeated=True)

    def writer(self, epoch: Epoch) -> FileWriter:  # noqa: ARG002
        return FileWriter(self)

    def settle(self, guess: Any) -> bool:  # noqa: ARG002
        return False

    def publish(self, epoch: Epoch, reports: Sequence[str], owner: str) -> Sequence[Published]:  # noqa: ARG002
        filesystem, root = _filesystem(self)
        final = f"{root}/{file_name(epoch)}"
        parts = sorted((json.loads(text) for text in reports), key=lambda one: one["shard"])
        rows = sum(part["count"] for part in parts)
        if _exists(filesystem, final):
            return [Published(self.location, None, repeated=True)]
        whole = f"{root}/.staging/{file_name(epoch)}"
        try:
            with filesystem.open_output_stream(whole) as stream:
                for part in parts:
                    _copy(filesystem, f"{root}/{part['path']}", stream)
            filesystem.move(whole, final)
            for part in parts:
                filesystem.delete_file(f"{root}/{part['path']}")
        except FileNotFoundError as error:
            raise RunError(f"what a task wrote is not in {self.location}: {error}",
                           hint="sink.file.path must be a place that the driver and every worker "
                                "share") from None
        except OSError as error:
            raise Retryable(f"the file of the epoch cannot be put in place: {error}") from None
        return [Published(self.location, None, files=1, rows=rows)]


def file_name(epoch: Epoch) -> str:
    """The same for every replay of an epoch, and another one for other data of its number."""
    return f"{epoch.pipeline}-{epoch.lane}-{epoch.number:08d}-{epoch.plan_digest[:8]}.ndjson"


def _copy(filesystem: Any, path: str, stream: Any) -> None:
    with filesystem.open_input_stream(path) as source:
        while block := source.read(BLOCK):
            stream.write(block)


@dataclass(frozen=True)
class FileWriter:
    sink: FileSink
    keyed: bool = False
    large_chunks: bool = False

    def open(self, place: TaskPlace) -> OpenFile:
        return OpenFile(self.sink, place)

    def gather(self, place: TaskPlace, parts: Iterable[bytes]) -> SinkReport:
        raise NotImplementedError("lines of a file need not meet")


@dataclass(frozen=True)
class Lines:
    text: pa.ChunkedArray
    rejects: pa.Table


class OpenFile:
    """See engine.work.OpenSink. Refuses nothing: every event has a line."""

    def __init__(self, sink: FileSink, place: TaskPlace) -> None:
        self._sink = sink
        self._place = place
        self._stream: Any = None
        self._name = (f".staging/{place.pipeline}-{place.lane}-{place.epoch}-{place.shard}-"
                      f"{place.attempt}.ndjson")
        self._count = 0

    def convert(
        self, connection: duckdb.DuckDBPyConnection, events: str, shape: Shape
    ) -> Lines:
        found = connection.sql(lines_sql(events, shape)).to_arrow_table()
        return Lines(found.column("line"), REJECTS.empty_table())

    def add(self, converted: Lines) -> None:
        if not len(converted.text):
            return
        if self._stream is None:
            filesystem, root = _filesystem(self._sink)
            filesystem.create_dir(f"{root}/.staging", recursive=True)
            self._stream = filesystem.open_output_stream(f"{root}/{self._name}")
        for chunk in converted.text.chunks:
            self._stream.write(text_bytes(chunk))
        self._count += len(converted.text)

    def drain(self, last: bool) -> Iterator[tuple[int, bytes]]:  # noqa: ARG002
        return iter(())

    def finish(self) -> SinkReport:
        if self._stream is None:
            return SinkReport()
        self._stream.close()
        report = {"shard": self._place.shard, "path": self._name, "count": self._count}
        return SinkReport(self._count, files=(json.dumps(report),))

    def abandon(self) -> None:
        if self._stream is not None:
            self._stream.close()


def lines_sql(events: str, shape: Shape) -> str:
    """One line per event, in order."""
    if shape.kind == "json":
        document = "json(body)::VARCHAR"
    else:
        document = f"({object_json(ROW, shape.fields)})::VARCHAR"
    metadata = f"({object_json(META, shape.metadata)})::VARCHAR" if shape.metadata else "'{}'"
    return (f"SELECT '{{\"metadata\":' || {metadata} || ',\"document\":' || {document} || "
            f"'}}\n' AS line FROM {events} ORDER BY ord")


def text_bytes(chunk: pa.Array) -> pa.Buffer:
    """The texts of an array without nulls, one right after the other, as they lie in memory."""
    wide = pa.types.is_large_string(chunk.type)
    _, offsets, texts = chunk.buffers()
    ends = np.frombuffer(offsets, np.int64 if wide else np.int32)
    first, last = ends[chunk.offset], ends[chunk.offset + len(chunk)]
    return texts.slice(int(first), int(last - first))


def _exists(filesystem: Any, path: str) -> bool:
    return bool(filesystem.get_file_info(path).type != pa.fs.FileType.NotFound)


def _filesystem(sink: FileSink) -> tuple[Any, str]:
    """The file system of a location and the path within it."""
    io = open_storage(sink.storage)
    scheme, netloc, path = io.parse_location(sink.location, dict(sink.storage))
    return io.fs_by_scheme(scheme, netloc), path.rstrip("/")
