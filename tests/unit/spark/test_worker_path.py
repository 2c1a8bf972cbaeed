"""What workers remember of Python's path."""

from __future__ import annotations

import sys

import pytest

from meltline.spark.worker_path import forget_archives


def test_archives_are_forgotten_and_folders_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ["/venv/site-packages", "/some.zipped/folder", "/jars"]
    archives = ["/x/spark-core.jar", "/x/spark-core.jar/org", "/x/pyspark.zip",
                "/x/pyspark.zip/pyspark/sql"]
    monkeypatch.setattr(sys, "path_importer_cache", dict.fromkeys([*kept, *archives]))
    forget_archives()
    assert list(sys.path_importer_cache) == kept
