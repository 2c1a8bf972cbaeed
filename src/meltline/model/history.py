"""What a table's metadata says about its past: snapshots, refs, schemas and specs. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

MAIN = "main"
NAME_MAPPING = "schema.name-mapping.default"


@dataclass(frozen=True)
class Snapshot:
    """`schema_id` is the schema that was current when the snapshot was made, if it says so."""

    snapshot_id: int
    parent_id: int | None
    sequence: int
    timestamp_ms: int
    operation: str
    manifest_list: str
    schema_id: int | None = None
    summary: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ref:
    name: str
    snapshot_id: int
    is_tag: bool = False


@dataclass(frozen=True)
class TableHistory:
    """Table metadata at one moment. `text` is Iceberg's table metadata JSON."""

    text: str = field(repr=False)

    @cached_property
    def _body(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.text)
        return body

    @property
    def uuid(self) -> str:
        return str(self._body.get("table-uuid", ""))

    @property
    def format_version(self) -> int:
        return int(self._body["format-version"])

    @property
    def properties(self) -> Mapping[str, str]:
        return dict(self._body.get("properties", {}))

    @property
    def name_mapping(self) -> str | None:
        return self.properties.get(NAME_MAPPING)

    @property
    def current_schema_id(self) -> int:
        return int(self._body.get("current-schema-id", 0))

    @cached_property
    def snapshots(self) -> Mapping[int, Snapshot]:
        return {int(one["snapshot-id"]): _snapshot(one) for one in self._body.get("snapshots", [])}

    @cached_property
    def refs(self) -> Mapping[str, Ref]:
        found = {name: Ref(name, int(ref["snapshot-id"]), ref["type"] == "tag")
                 for name, ref in self._body.get("refs", {}).items()}
        current = self._body.get("current-snapshot-id", -1)
        if MAIN not in found and current not in (None, -1):
            found[MAIN] = Ref(MAIN, int(current))
        return found

    @cached_property
    def schemas(self) -> Mapping[int, str]:
        """The JSON of every schema, by id."""
        if "schemas" not in self._body:
            return {0: json.dumps({"schema-id": 0, **self._body["schema"]})}
        return {int(one.get("schema-id", 0)): json.dumps(one) for one in self._body["schemas"]}

    @cached_property
    def specs(self) -> Mapping[int, str]:
        """The JSON of every partition spec, by id."""
        if "partition-specs" not in self._body:
            return {0: json.dumps({"spec-id": 0, "fields": self._body["partition-spec"]})}
        return {int(one["spec-id"]): json.dumps(one) for one in self._body["partition-specs"]}

    @property
    def default_spec_id(self) -> int:
        return int(self._body.get("default-spec-id", 0))

    @cached_property
    def unpartitioned(self) -> frozenset[int]:
        """Specs under which an equality delete reaches the whole table."""
        return frozenset(
            id_ for id_, text in self.specs.items()
            if all(field["transform"] == "void" for field in json.loads(text)["fields"]))

    def ancestors(self, snapshot_id: int | None) -> Iterator[Snapshot]:
        """The snapshot and its parents, newest first, as far as the metadata knows them."""
        while snapshot_id is not None and (found := self.snapshots.get(snapshot_id)) is not None:
            yield found
            snapshot_id = found.parent_id

    def schema_of(self, snapshot: Snapshot) -> int:
        """The schema to read a snapshot with: its own, as time travel does."""
        if snapshot.schema_id is not None and snapshot.schema_id in self.schemas:
            return snapshot.schema_id
        return self.current_schema_id


def _snapshot(body: Mapping[str, Any]) -> Snapshot:
    summary = {key: str(value) for key, value in body.get("summary", {}).items()}
    parent = body.get("parent-snapshot-id")
    schema = body.get("schema-id")
    return Snapshot(
        int(body["snapshot-id"]), None if parent is None else int(parent),
        int(body.get("sequence-number", 0)), int(body["timestamp-ms"]),
        summary.pop("operation", ""), str(body.get("manifest-list", "")),
        None if schema is None else int(schema), summary)
