"""Reports of closed files: sealed on the way, each file once."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from meltline.errors import RunError
from meltline.model.file_closed import FileClosed, unique_by_path

REPORT = FileClosed(
    table="db.t", epoch=4, batch_id="b", shard=2, schema_id=1, spec_id=0, path="s3://b/é.parquet",
    kind="data", record_count=10, size=1234, content='{"content":"data"}').sealed()


def test_a_report_comes_back() -> None:
    assert FileClosed.from_json(REPORT.to_json()) == REPORT
    assert len(REPORT.digest) == 64


def test_sealing_twice_changes_nothing() -> None:
    assert REPORT.sealed() == REPORT


@pytest.mark.parametrize("name", [name for name in asdict(REPORT) if name != "digest"])
def test_a_changed_report_is_damaged(name: str) -> None:
    body = asdict(REPORT)
    body[name] = body[name] + (1 if isinstance(body[name], int) else "x")
    with pytest.raises(RunError, match="is damaged") as raised:
        FileClosed.from_json(json.dumps(body))
    assert raised.value.hint


def test_a_report_without_a_seal_is_damaged() -> None:
    with pytest.raises(RunError, match=r"s3://b/é.parquet is damaged"):
        FileClosed.from_json(replace(REPORT, digest="").to_json())


def test_each_file_once() -> None:
    other = replace(REPORT, path="other")
    assert unique_by_path([REPORT, other, REPORT]) == [REPORT, other]
    assert unique_by_path([]) == []
