"""The steps by which the partition spec of a copy follows that of its source. Pure."""

from __future__ import annotations

from pyiceberg.partitioning import PartitionSpec

from meltline.lake.evolution import PartitionStep, SpecSteps
from meltline.sinks.iceberg.pairing import Pairing
from meltline.sinks.iceberg.source_fields import Part


def follow_spec(
    have: PartitionSpec, wanted: tuple[Part, ...] | None, pairing: Pairing
) -> SpecSteps:
    """`wanted` None: the copy's spec stays. A spec is the same when it cuts the same columns in the
    same ways; partition fields of the same cut are renamed."""
    if wanted is None:
        return SpecSteps()
    paths = {column.id: pairing.after(path) for path, column in pairing.mine.items()}
    left = {(str(paths[field.source_id]), str(field.transform)): field.name
            for field in have.fields if str(field.transform) != "void"}
    theirs = {column.id: column.path for column in pairing.theirs}
    cuts = {(theirs[id_], transform): name for id_, transform, name in wanted}
    return SpecSteps(
        removes=tuple(name for cut, name in left.items() if cut not in cuts),
        renames=tuple((left[cut], name) for cut, name in cuts.items()
                      if cut in left and left[cut] != name),
        adds=tuple(PartitionStep(name, column, transform)
                   for (column, transform), name in cuts.items()
                   if (column, transform) not in left))

