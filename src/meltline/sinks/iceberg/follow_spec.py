"""The steps by which the partition spec of a copy follows that of its source. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pyiceberg.partitioning import PartitionField, PartitionSpec

from meltline.lake.evolution import PartitionStep, SpecSteps
from meltline.sinks.iceberg.pairing import Pairing
from meltline.sinks.iceberg.source_fields import Part


def follow_spec(
    have: PartitionSpec, wanted: tuple[Part, ...] | None, pairing: Pairing
) -> SpecSteps:
    """`wanted` None: the copy's spec stays, but for columns that go. A spec is the same when it
    cuts the same columns in the same ways; partition fields of the same cut are renamed."""
    fields = [field for field in have.fields if str(field.transform) != "void"]
    paths = {column.id: pairing.after(path) for path, column in pairing.mine.items()}
    freed = tuple(field.name for field in fields if paths.get(field.source_id) is None)
    left = {_cut(field, paths): field.name for field in fields if field.name not in freed}
    if wanted is None:
        return SpecSteps(freed)
    theirs = {column.id: column.path for column in pairing.theirs}
    cuts = {(theirs[id_], transform): name for id_, transform, name in wanted}
    return SpecSteps(
        freed,
        removes=tuple(name for cut, name in left.items() if cut not in cuts),
        renames=tuple((left[cut], name) for cut, name in cuts.items()
                      if cut in left and left[cut] != name),
        adds=tuple(PartitionStep(name, column, transform)
                   for (column, transform), name in cuts.items()
                   if (column, transform) not in left))


def _cut(field: PartitionField, paths: Mapping[int, str | None]) -> tuple[str, str]:
    return str(paths[field.source_id]), str(field.transform)
