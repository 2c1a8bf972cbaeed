"""Whether files that were written for a table as it was may join the table as it is. Pure.

Iceberg tells columns and partitions by ids, so most changes do no harm: a column that was dropped,
renamed, promoted or added leaves the files right, and files keep the partition spec they were
written under.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.types import IcebergType, NestedField

from meltline.errors import Retryable
from meltline.model.columns import children
from meltline.model.target import TableTarget
from meltline.sinks.iceberg.delete_plan import DeletePlan


@dataclass(frozen=True)
class Written:
    """What an epoch's files were written for. `spec_ids` are the partition specs that the table
    had, `used` those of the files."""

    target: TableTarget
    spec_ids: frozenset[int]
    used: frozenset[int]
    plan: DeletePlan | None = None

    @property
    def identifiers(self) -> tuple[str, ...]:
        return () if self.plan is None else self.plan.identifiers

    @property
    def scoped(self) -> bool:
        """Whether deletes only reach the partition of their key."""
        return self.plan is not None and self.plan.mode == "equality" and self.plan.scoped


def written_for(
    target: TableTarget, spec_ids: frozenset[int], plan: DeletePlan | None, key_spec: str | None
) -> Written:
    """`key_spec` is the partition spec (Iceberg's JSON) of the files of deleted keys."""
    used = {target.spec.spec_id}
    if plan is not None and plan.mode == "equality" and key_spec is not None:
        used.add(PartitionSpec.model_validate_json(key_spec).spec_id)
    return Written(target, spec_ids, frozenset(used), plan)


def check_still_valid(written: Written, now: TableTarget, spec_ids: Collection[int]) -> None:
    """Raises Retryable when the epoch must be written again. `spec_ids` are those of the table
    now."""
    reason = why_not(written, now, spec_ids)
    if reason is not None:
        raise Retryable(f"{reason} while the epoch was written: it is written again")


def why_not(written: Written, now: TableTarget, spec_ids: Collection[int]) -> str | None:
    """What happened to the table that the files do not bear; None when they may be committed."""
    table = written.target.table
    if now.uuid != written.target.uuid:
        return f"table {table} was replaced by another one"
    if gone := written.used - set(spec_ids):
        return f"partition spec {min(gone)} of table {table} was removed"
    if written.scoped and set(spec_ids) - written.spec_ids:
        return f"table {table} got another partition spec, which its deletes would not reach"
    return _columns(written, now)


def _columns(written: Written, now: TableTarget) -> str | None:
    then = {field.field_id: field for field in _fields(written.target.schema.as_struct())}
    current = {field.field_id for field in _fields(now.schema.as_struct())}
    for name in written.identifiers:
        if written.target.schema.find_field(name).field_id not in current:
            return f'identifier column "{name}" of table {now.table} was dropped'
    names = {field.name for field in written.target.schema.fields}
    for field in now.schema.fields:
        if field.field_id not in then and field.name in names:
            return f'column "{field.name}" of table {now.table} was made anew'
    for field in _known(now.schema.as_struct(), then):
        before = then.get(field.field_id)
        if field.required and before is None and field.initial_default is None:
            return f'required column "{field.name}" was added to table {now.table}'
        if field.required and before is not None and not before.required:
            return f'column "{field.name}" of table {now.table} became required'
    return None


def _known(type_: IcebergType, then: Collection[int]) -> Iterator[NestedField]:
    """The fields whose struct was there before: inside of a new column nothing is missing."""
    for field in children(type_):
        yield field
        if field.field_id in then:
            yield from _known(field.field_type, then)


def _fields(type_: IcebergType) -> Iterator[NestedField]:
    """Every field at any depth."""
    for field in children(type_):
        yield field
        yield from _fields(field.field_type)
