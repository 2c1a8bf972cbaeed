"""What a commit asks of the object store, as the store itself has logged it.

Seen per epoch in equality mode: no listing of any kind; objects are read only under `metadata/`
(metadata files, manifest lists, manifests); under `data/` there is nothing but new objects. So
neither a data file nor a delete file is read, not even its footer or its size, whatever the table
holds already.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.catalogs import Properties, s3_properties
from tests.changes.combination import Combination
from tests.changes.trial import Trial
from tests.services.s3 import S3

SEED = 83
_LINE = re.compile(r"\[[^\]]+\] \S+ \S+ \S+ (?P<operation>\S+) (?P<key>\S+) ")
READS = {"GetObject", "HeadObject", "GetObjectAttributes", "SelectObjectContent"}
WRITES = {"PutObject", "CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload"}


@dataclass(frozen=True)
class Request:
    operation: str
    key: str


class AccessLog:
    """The server's log from one moment to the next."""

    def __init__(self, server: S3) -> None:
        self._file = server.access_log
        self._read = self._file.stat().st_size

    def since_last(self) -> list[Request]:
        with self._file.open("rb") as stream:
            stream.seek(self._read)
            text = stream.read().decode()
        self._read += len(text.encode())
        return [request_of(line) for line in text.splitlines()]


def request_of(line: str) -> Request:
    found = _LINE.search(line)
    assert found, f"no line of an access log: {line}"
    return Request(found["operation"].rpartition("_")[2], found["key"])


@pytest.mark.parametrize("partition", ["none", "day", "bucket"])
def test_an_epoch_of_equality_deletes_lists_nothing_and_reads_no_data(
    partition: str, tmp_path: Path, spark: SparkSession, s3: S3,
    make_catalog: Callable[[str], Properties],
) -> None:
    catalog = {**make_catalog("jdbc-sqlite"), **s3_properties(s3),
               "warehouse": f"s3://warehouse/{tmp_path.name}"}
    combination = Combination("equality", 2, partition, upserts=True)
    trial = Trial.make(tmp_path, catalog, spark, combination, SEED)
    trial.drop_epoch()
    trial.lab.run()
    log = AccessLog(s3)
    for _ in range(2):
        trial.drop_epoch()
        trial.lab.run()
        check_requests(log.since_last())
    # and the log does see a reader of the data
    trial.check_now()
    seen = {"/data/" in request.key for request in log.since_last()
            if request.operation in READS}
    assert seen == {True, False}


def check_requests(requests: list[Request]) -> None:
    kinds = Counter(request.operation for request in requests)
    assert not [kind for kind in kinds if "List" in kind], kinds
    read = [request.key for request in requests if request.operation in READS]
    assert read, "an epoch reads at least the table's metadata"
    assert not [key for key in read if "/metadata/" not in key]
    touched = {request.operation for request in requests if "/data/" in request.key}
    assert touched, "an epoch writes data files"
    assert touched <= WRITES
