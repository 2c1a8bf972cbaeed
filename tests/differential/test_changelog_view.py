"""Every change of a copy-on-write table is what Iceberg's own `create_changelog_view` tells.

Both give the images before and after an update, pair rows by key over partitions, leave out
compaction and rows that were carried over, and hold NaN equal to NaN and -0.0 apart from 0.0. One
thing differs: the view compares bytes by where they are in memory, so a row with bytes that was
carried over is an update to it that changes nothing. Those are left out of what it tells.

The view knows no delete files and sorts by every column, so there are no merge-on-read tables and
no maps here; `test_iceberg_changes` has both.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

import pytest

from meltline.kernels.pairing import AFTER, BEFORE, DELETE, INSERT
from meltline.sources.iceberg.settings import TableSettings
from meltline.sources.iceberg.source import IcebergSource
from meltline.sources.iceberg.units import Limits
from meltline.testing import meet_here
from tests.differential.histories import REGIONS, History, Kind
from tests.differential.replay import WAYS, Row, plain, read_plans
from tests.warehouse import Warehouse

Told = Counter[tuple[str, str]]
KINDS = [Kind(version, "copy-on-write", partition, nested=False)
         for version in (2, 3) for partition in ("none", "region")]


class SqlHistory(History):
    """Statements alone. The schema stays: the view reads every snapshot with one schema."""

    def steps(self) -> list[tuple[int, Callable[[], None]]]:
        return [(4, self.insert), (4, self.update), (3, self.delete), (4, self.merge),
                (3, self.move), (1, self.nothing), (1, self.overwrite), (1, self.compact),
                (1, self.insert_again), (2, self.replace_some)]

    def live(self) -> None:
        """Every kind of change at least once, in a random order, on a table that has rows."""
        every = [one for _, one in self.steps()]
        for one in (self.insert, self.insert, *self.random.sample(every, len(every))):
            one()

    def replace_some(self) -> None:
        """INSERT OVERWRITE of other rows, of one partition where there are partitions."""
        region = self.random.choice(REGIONS)
        if self.kind.partition == "region":
            names = [name for name in self.kind.columns if name != "region"]
            into = f"PARTITION (region = '{region}')"
        else:
            names, into = list(self.kind.columns), ""
        chosen = ", ".join("coalesce(note, '') || 'o'" if n == "note" else n for n in names)
        self.run(f"INSERT OVERWRITE {{t}} {into} ({', '.join(names)}) SELECT {chosen} FROM {{t}} "
                 f"WHERE region = '{region}' AND {self.some()}")


def told_by_view(warehouse: Warehouse, identifier: str) -> dict[int, Told]:
    warehouse.sql(f"CALL {{c}}.system.create_changelog_view(table => '{identifier}', "
                  f"changelog_view => 'told', identifier_columns => array('id'))")
    found: dict[int, Told] = defaultdict(Counter)
    bytes_: set[str] = set()
    for row in warehouse.sql("SELECT * FROM told"):
        kind, snapshot = row.pop("_change_type"), row.pop("_commit_snapshot_id")
        del row["_change_ordinal"]
        found[snapshot][kind, text(row)] += 1
        if row["raw"] is not None:
            bytes_.add(text(row))
    left = {snapshot: told - carried(told, bytes_) for snapshot, told in found.items()}
    return {snapshot: told for snapshot, told in left.items() if told}


def carried(told: Told, bytes_: Iterable[str]) -> Told:
    """Updates of rows with bytes whose two images are the same."""
    return Counter((kind, row) for row in bytes_ for kind in (BEFORE, AFTER)
                   if told[BEFORE, row] and told[AFTER, row])


def told_by_us(warehouse: Warehouse, identifier: str, limits: Limits) -> dict[int, Told]:
    settings = TableSettings(identifier, ("id",), export=False, start_from="earliest",
                             update_before=True, limits=limits)
    source = IcebergSource(lambda: warehouse.catalog.load(identifier), settings, meet_here)
    return {plan.data["snapshot"]: Counter(
                (event["meta"]["iceberg_operation"], text(event["row"])) for event in events)
            for plan, events in read_plans(source, None, 3) if events}


def text(row: Row) -> str:
    return str(sorted(plain(row).items()))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_view_tells_the_same_of_every_snapshot(warehouse: Warehouse, kind: Kind) -> None:
    history = SqlHistory(warehouse, kind, seed=KINDS.index(kind) + 1)
    history.live()
    view = told_by_view(warehouse, history.identifier)
    kinds = {kind for told in view.values() for kind, _ in told}
    assert kinds == {INSERT, DELETE, BEFORE, AFTER}, "the seed leaves something out"
    for limits in WAYS:
        assert told_by_us(warehouse, history.identifier, limits) == view, history.statements
