"""A digest of what in a pipeline decides what becomes of an event. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from meltline.config.catalog import CatalogBlock
from meltline.config.dlq import DlqBlock
from meltline.config.pipeline import PipelineBlock

_PIPELINE = {"ledger", "on_failure", "workers", "delay", "buffer"}
# the plan names the files; whether a lost one is left out is the user's way out, not a rule
_FILES = {"paths", "polling_interval", "settle_time", "max_files_per_epoch", "max_bytes_per_epoch",
          "ignore_suffixes", "missing_files", "storage"}  # fmt: skip
_ICEBERG = {"catalog", "commit_interval", "flush_interval", "ack_poll_interval",
            "table_properties", "table_location", "write_properties"}  # fmt: skip
_DLQ = {"iceberg": {"catalog"}, "file": {"storage"}, "s3": {"storage", "region"}}
LEFT_OUT: Mapping[str, Any] = {
    **dict.fromkeys(_PIPELINE, True),
    "source": {"files": _FILES},
    "sink": {"__all__": {"iceberg": {**dict.fromkeys(_ICEBERG, True), "dlq": _DLQ}}},
    "dlq": _DLQ,
}
"""Pace, limits, places of the ledger and of files, access: the same events become the same rows
with others. Whatever is not named here counts, also what a later version adds."""

_USER = re.compile(r"//[^/@]*@")


def configuration_digest(block: PipelineBlock) -> str:
    """Equal digests: the same plan becomes the same rows and dead letters in the same places.

    Keys at their defaults do not count, so that a version with more keys agrees with this one.
    Credentials do not count either; of a catalog its kind, address and warehouse do.
    """
    # no warnings: a FrozenMap is not the dict that pydantic looks for, and passes all the same
    content = block.model_dump(
        by_alias=True, exclude_defaults=True, exclude=dict(LEFT_OUT), warnings=False)
    catalogs = [_of_dlq(block.dlq)]
    for sink in block.sink:
        if sink.iceberg is not None:
            catalogs += [_place(sink.iceberg.catalog), _of_dlq(sink.iceberg.dlq)]
    text = json.dumps([content, catalogs], sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _of_dlq(dlq: DlqBlock | None) -> list[str | None] | None:
    return _place(dlq.iceberg.catalog) if dlq and dlq.iceberg else None


def _place(catalog: CatalogBlock | None) -> list[str | None] | None:
    if catalog is None:
        return None
    # a password may be in the address: as a user's, or as a parameter
    uri = _USER.sub("//", (catalog.uri or "").partition("?")[0])
    return [catalog.type, catalog.catalog_impl, uri, catalog.warehouse, catalog.name]
