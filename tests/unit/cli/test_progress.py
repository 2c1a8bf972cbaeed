"""What the live line says."""

from __future__ import annotations

import pytest

from meltline.cli.progress import line
from meltline.engine.epoch import Epoch
from meltline.model.plan import Plan, Position

Counts = tuple[int, int, int]


@pytest.mark.parametrize(("summary", "tasks", "keys", "said"), [
    ({"files": "3"}, (1, 4, 2000), (0, 0, 0), "3 files, 2,000 events, 400/s, 1/4 tasks"),
    ({"files": "3"}, (0, 0, 0), (0, 0, 0), "3 files, publishing"),
    ({"load": "files 0 to 5 of 9"}, (0, 0, 0), (2, 8, 0),
     "files 0 to 5 of 9, looking at keys, 2/8 tasks"),
    ({"snapshot": "7"}, (1, 2, 0), (0, 0, 0), "1/2 tasks"),
])
def test_what_is_known_and_nothing_else(
    summary: dict[str, str], tasks: Counts, keys: Counts, said: str
) -> None:
    epoch = Epoch("shop", "orders", 4, Plan({}, Position({}), summary=summary), 0)
    known = {epoch.label: tasks, epoch.preparation: keys}
    assert line(epoch, known.__getitem__, 5.0) == f"shop/orders epoch 4: {said}, 5s"
