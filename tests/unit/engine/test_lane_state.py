"""What the ledger keeps of a lane, and who owns it."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import replace

import pytest

from meltline.engine.ledger import LaneState, Owner, new_owner
from meltline.model.plan import Position
from tests.unit.engine.epochs import epoch

STATES = {
    "new": LaneState(),
    "done": LaneState(3, Position({"next": 10, "é": [1, None]}), None, {"db.t": 2**62}, 17),
    "first is pending": LaneState(0, None, epoch(1), {}, 17),
    "pending": LaneState(3, Position({"next": 10}), epoch(4), {"db.t": 5, "db.u": 6}, 17),
    "an empty position": LaneState(1, Position({})),
}


@pytest.mark.parametrize("case", STATES)
def test_a_state_comes_back(case: str) -> None:
    assert LaneState.from_json(STATES[case].to_json(), "p", "l") == STATES[case]


def test_a_ledger_of_an_earlier_version_has_no_digest_of_the_configuration() -> None:
    written = json.loads(STATES["pending"].to_json())
    del written["pending"]["config"]
    state = LaneState.from_json(json.dumps(written), "p", "l")
    assert state.pending == replace(epoch(4), config="")


def test_recording_keeps_what_is_done() -> None:
    state = STATES["done"].recorded(epoch(4), 99)
    assert state == LaneState(3, STATES["done"].position, epoch(4), {"db.t": 2**62}, 99)


def test_done_moves_on() -> None:
    state = STATES["pending"].done({"db.t": 7, "db.v": 8}, 99)
    assert state == LaneState(4, epoch(4).plan.end, None, {"db.t": 7, "db.u": 6, "db.v": 8}, 99)


def test_nothing_is_done_without_a_pending_epoch() -> None:
    with pytest.raises(ValueError, match="no epoch is pending"):
        LaneState().done({}, 0)


OWNERS = [Owner("0f" * 16, "host/12"), Owner("a", ""), Owner("a", "a place with blanks/1")]


@pytest.mark.parametrize("owner", OWNERS, ids=str)
def test_an_owner_comes_back(owner: Owner) -> None:
    assert Owner.from_text(owner.to_text()) == owner


def test_an_owner_for_people_is_short() -> None:
    assert str(OWNERS[0]) == "host/12 (0f0f0f0f)"


def test_every_start_is_another_owner() -> None:
    one, other = new_owner(), new_owner()
    assert one.token != other.token
    assert one.place == other.place == f"{socket.gethostname()}/{os.getpid()}"
