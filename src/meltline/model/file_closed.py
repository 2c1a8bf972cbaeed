"""What a worker reports for each file it has closed. Nothing else is needed to commit it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from meltline.errors import RunError

DATA = "data"
EQUALITY_DELETES = "equality-deletes"
"""The kinds that workers report of their own accord."""


@dataclass(frozen=True)
class FileClosed:
    """One closed file. `content` is Iceberg's content-file JSON, `digest` covers all other fields.

    A re-run of a task reports other paths; only the winning attempt's reports are committed.
    """

    table: str
    epoch: int
    batch_id: str
    shard: int
    schema_id: int
    spec_id: int
    path: str
    kind: str
    record_count: int
    size: int
    content: str
    digest: str = ""

    def sealed(self) -> FileClosed:
        return FileClosed(**{**asdict(self), "digest": self._digest()})

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> FileClosed:
        """Raises RunError when the report was changed on its way."""
        report = cls(**json.loads(text))
        if report.digest != report._digest():
            raise RunError(f"the report of file {report.path} is damaged (its digest differs)",
                           hint="run the epoch again; if it happens again, suspect the memory")
        return report

    def _digest(self) -> str:
        fields: Mapping[str, Any] = {k: v for k, v in asdict(self).items() if k != "digest"}
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def unique_by_path(reports: Iterable[FileClosed]) -> list[FileClosed]:
    """Each file once: a report may arrive twice, a file must not be committed twice."""
    return list({report.path: report for report in reports}.values())
