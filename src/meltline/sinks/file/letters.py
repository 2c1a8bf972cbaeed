"""Dead letters as files in Data Prepper's DLQ object form, local or in an object store.

A task writes its letters under a name of its own in `.staging/`; `publish` moves them to a name
that follows from the epoch, so that a replay finds them done instead of adding a second copy.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from meltline import __version__
from meltline.engine.epoch import Epoch
from meltline.engine.sink import Published
from meltline.engine.token import Token
from meltline.engine.work import TaskPlace
from meltline.errors import Retryable, RunError, UserError
from meltline.kernels.storage import open_storage


@dataclass(frozen=True)
class FileLetters:
    """See engine.sink.Letters. `location` is a folder or a URL such as `s3://bucket/dlq`."""

    location: str
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def key(self) -> str:
        return f"file:{self.location}"

    def check(self) -> None:
        filesystem, path = _filesystem(self.location, self.storage)
        try:
            filesystem.create_dir(path, recursive=True)
        except OSError as error:
            raise UserError(f"dead letters cannot be written to {self.location}: {error}",
                            hint="dlq must name a folder that can be made and written") from None

    def token(self, pipeline: str, lane: str) -> Token | None:  # noqa: ARG002
        """Files carry no token: their names alone make publishing them twice harmless."""
        return None

    def find(self, epoch: Epoch) -> bool:
        """By the part of the names that all tasks of the epoch share. Lists the folder."""
        filesystem, root = _filesystem(self.location, self.storage)
        listed = filesystem.get_file_info(pa.fs.FileSelector(root, allow_not_found=True))
        return any(info.base_name.startswith(_name_start(epoch)) for info in listed)

    def writer(self, epoch: Epoch) -> FileLetterWriter:  # noqa: ARG002
        return FileLetterWriter(self)

    def publish(self, epoch: Epoch, reports: Sequence[str], owner: str) -> Published:  # noqa: ARG002
        filesystem, root = _filesystem(self.location, self.storage)
        count = 0
        for text in reports:
            report = json.loads(text)
            final = f"{root}/{letter_name(epoch, report['shard'])}"
            staged = f"{root}/{report['path']}"
            if not _exists(filesystem, staged):
                if _exists(filesystem, final):
                    continue
                raise RunError(f"the dead letters of a task are not in {self.location}",
                               hint="dlq.file.path must be a place that the driver and every "
                                    "worker share")
            try:
                filesystem.move(staged, final)
            except OSError as error:
                raise Retryable(f"dead letters cannot be put in place: {error}") from None
            count += report["count"]
        return Published(self.location, None, files=len(reports), rows=count)


def _exists(filesystem: Any, path: str) -> bool:
    return bool(filesystem.get_file_info(path).type != pa.fs.FileType.NotFound)


def letter_name(epoch: Epoch, shard: int) -> str:
    """`dlq-v<major>-<pipeline>-<plugin>-<time>-<uuid>.json`, the same for every replay."""
    unique = uuid.uuid5(uuid.NAMESPACE_OID, f"{epoch.batch_id('dead-letters')}:{shard}")
    return f"{_name_start(epoch)}{unique}.json"


def _name_start(epoch: Epoch) -> str:
    at = datetime.fromtimestamp(epoch.planned_at_ms / 1000, timezone.utc)
    stamp = at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{epoch.planned_at_ms % 1000:03d}Z"
    return f"dlq-v{__version__.partition('.')[0]}-{epoch.pipeline}-iceberg-{stamp}-"


@dataclass(frozen=True)
class FileLetterWriter:
    letters: FileLetters

    def open(self, place: TaskPlace) -> OpenFileLetters:
        return OpenFileLetters(self.letters, place)


class OpenFileLetters:
    def __init__(self, letters: FileLetters, place: TaskPlace) -> None:
        self._letters = letters
        self._place = place
        self._stream: Any = None
        self._name = f".staging/{place.pipeline}-{place.epoch}-{place.shard}-{place.attempt}.json"
        self._count = 0

    def add(self, letters: pa.Table) -> None:
        if self._stream is None:
            filesystem, root = _filesystem(self._letters.location, self._letters.storage)
            filesystem.create_dir(f"{root}/.staging", recursive=True)
            self._stream = filesystem.open_output_stream(f"{root}/{self._name}")
            self._stream.write(b'{"dlqObjects":[')
        for letter in letters.to_pylist():
            separator = b",\n" if self._count else b"\n"
            self._stream.write(separator + dlq_object(letter).encode())
            self._count += 1

    def finish(self) -> Sequence[str]:
        if self._stream is None:
            return ()
        self._stream.write(b"\n]}\n")
        self._stream.close()
        return (json.dumps({"shard": self._place.shard, "path": self._name,
                            "count": self._count}),)


def dlq_object(letter: Mapping[str, Any]) -> str:
    """One dead letter in Data Prepper's form; the event as an object when it is one."""
    at = letter["failed_at"]
    plugin = {"pluginId": "iceberg", "pluginName": "iceberg", "pipelineName": letter["pipeline"]}
    failed = {"sink": letter["sink"], "epoch": letter["epoch"], "message": letter["reason"],
              "source": json.loads(letter["source"])}
    stamp = at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"
    return (f'{_opened(plugin)},"failedData":{_opened(failed)},'
            f'"document":{_document(letter["event"])}}},"timestamp":"{stamp}"}}')


def _opened(values: Mapping[str, Any]) -> str:
    """A JSON object to which more is to be added."""
    return json.dumps(values, ensure_ascii=False).removesuffix("}")


def _document(event: str) -> str:
    """The text of a JSON object as it arrived, every digit of it; anything else as a string."""
    try:
        # no number is made: it could not always be written back, nor always be made
        parsed = json.loads(event, parse_int=str, parse_float=str, parse_constant=_no_number)
    except (ValueError, RecursionError):
        parsed = None
    return event if isinstance(parsed, dict) else json.dumps(event, ensure_ascii=False)


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not JSON, though some parsers take it")


def _filesystem(location: str, storage: Mapping[str, str]) -> tuple[Any, str]:
    """The file system of a location and the path within it."""
    io = open_storage(storage)
    scheme, netloc, path = io.parse_location(location, dict(storage))
    filesystem = io.fs_by_scheme(scheme, netloc)
    return filesystem, path.rstrip("/")
