"""The token on a table: what it stops, and what can be rebuilt from it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from meltline.engine.epoch import Epoch
from meltline.engine.ledger import LaneState
from meltline.engine.token import Token, already_published, recovered
from meltline.errors import Fenced, RunError
from meltline.model.plan import Position
from tests.unit.engine.epochs import TABLE, epoch, token


def test_a_token_comes_back() -> None:
    assert Token.from_json(token().to_json()) == token()


def test_a_token_carries_the_whole_epoch() -> None:
    found = Token.from_json(token(4, 7).to_json()).as_epoch("p", "l")
    assert found == epoch(4, 7)
    assert found.batch_id(TABLE) == token(4, 7).batch_id


def test_a_token_of_an_earlier_version_has_no_digest_of_the_configuration() -> None:
    written = json.loads(token().to_json())
    del written["config"]
    assert Token.from_json(json.dumps(written)) == replace(token(), config="")


PUBLISHED: dict[str, tuple[Token | None, Epoch, bool]] = {
    "no token": (None, epoch(3), False),
    "an older epoch": (token(2), epoch(3), False),
    "an older epoch of another plan": (token(2, start=5), epoch(3), False),
    "this epoch": (token(3), epoch(3), True),
}


@pytest.mark.parametrize("case", PUBLISHED)
def test_already_published(case: str) -> None:
    found, current, expected = PUBLISHED[case]
    assert already_published(found, current, TABLE) is expected


def test_a_table_that_is_ahead_fences() -> None:
    with pytest.raises(Fenced, match=r"table db.t already holds epoch 4 of pipeline 'p', and this "
                                     "driver is at epoch 3: a newer driver has taken over"):
        already_published(token(4), epoch(3), TABLE)


def test_the_same_number_with_other_data_is_refused() -> None:
    with pytest.raises(RunError, match="with other source positions than this one") as raised:
        already_published(token(3, start=5), epoch(3), TABLE)
    assert not isinstance(raised.value, Fenced)
    assert "two pipelines of one name" in str(raised.value.hint)


DONE_3 = LaneState(3, Position({"next": 10}), None, {"db.t": 1}, 17)
PENDING_4 = DONE_3.recorded(epoch(4), 18)
RECOVERED: dict[str, tuple[LaneState | None, list[Token], LaneState | None]] = {
    "nothing known": (None, [], None),
    "no tokens": (DONE_3, [], DONE_3),
    "the token of the last epoch": (DONE_3, [token(3)], DONE_3),
    "an older token": (DONE_3, [token(2)], DONE_3),
    "the token of the pending epoch": (PENDING_4, [token(4)], PENDING_4),
    "older tokens than the pending epoch": (PENDING_4, [token(3), token(2)], PENDING_4),
    # the newest token's epoch runs again: a table that has it skips it, another one gets it
    "a lost ledger": (None, [token(2), token(4, 7)], LaneState(3, None, epoch(4, 7))),
    "a lost ledger, first epoch": (None, [token(1)], LaneState(0, None, epoch(1))),
    "an old copy of the ledger": (DONE_3, [token(5), token(4)], LaneState(4, None, epoch(5))),
    "an old copy with a pending epoch": (
        PENDING_4, [token(4), token(6)], LaneState(5, None, epoch(6))),
}


@pytest.mark.parametrize("case", RECOVERED)
def test_recovered(case: str) -> None:
    state, tokens, expected = RECOVERED[case]
    assert recovered(state, tokens, "p", "l", "led") == expected
    assert recovered(state, reversed(tokens), "p", "l", "led") == expected


def test_a_ledger_does_not_follow_the_token_of_another_one() -> None:
    with pytest.raises(RunError, match=r"another pipeline of this name"):
        recovered(DONE_3, [token(5)], "p", "l", "my-own-ledger")
    lost = recovered(None, [token(5)], "p", "l", "my-own-ledger")
    assert lost is not None
    assert lost.epoch == 4
