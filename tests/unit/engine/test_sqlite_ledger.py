"""The ledger in a local file: claims, fences, and two drivers at once."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from meltline.engine import sqlite_ledger
from meltline.engine.ledger import LaneState, Owner
from meltline.engine.sqlite_ledger import SqliteLedger
from meltline.errors import Fenced, PositionLost, Retryable, UserError
from meltline.model.plan import Position
from tests.unit.engine.epochs import epoch

ANNA, BERT = Owner("a" * 32, "here/1"), Owner("b" * 32, "there/2")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "ledger.db"


def opened(path: Path, owner: Owner, pipeline: str = "p") -> SqliteLedger:
    ledger = SqliteLedger(path, pipeline)
    ledger.claim(owner)
    return ledger


def test_a_new_ledger_knows_nothing(path: Path) -> None:
    ledger = SqliteLedger(path, "p")
    assert ledger.owner() is None
    assert ledger.load("l") is None
    assert path.exists()


def test_claiming_says_who_was_before(path: Path) -> None:
    ledger = SqliteLedger(path, "p")
    assert ledger.claim(ANNA) is None
    assert ledger.claim(BERT) == ANNA
    assert ledger.owner() == BERT == SqliteLedger(path, "p").owner()


def test_states_outlive_the_ledger(path: Path) -> None:
    states = {"l": LaneState(3, Position({"next": 1}), epoch(4), {"db.t": 2**62}, 17),
              "é/..": LaneState(epoch=1)}
    ledger = opened(path, ANNA)
    for lane, state in states.items():
        ledger.save(lane, LaneState())
        ledger.save(lane, state)
    again = SqliteLedger(path, "p")
    assert again.load("l") == states["l"]
    assert again.load("é/..") == states["é/.."]
    assert again.load("other") is None


def test_pipelines_do_not_meet(path: Path) -> None:
    one, other = opened(path, ANNA, "one"), opened(path, BERT, "other")
    one.save("l", LaneState(1))
    other.save("l", LaneState(2))
    assert one.load("l") == LaneState(1)
    assert one.owner() == ANNA


def test_who_has_not_claimed_may_read_but_not_save(path: Path) -> None:
    opened(path, ANNA).save("l", LaneState(1))
    reader = SqliteLedger(path, "p")
    assert reader.load("l") == LaneState(1)
    with pytest.raises(Fenced):
        reader.save("l", LaneState(2))


def test_the_older_driver_is_fenced(path: Path) -> None:
    older = opened(path, ANNA)
    older.save("l", LaneState(1))
    newer = opened(path, BERT)
    with pytest.raises(Fenced, match=r"pipeline 'p' was taken over by there/2 \(bbbbbbbb\); this "
                                     r"driver \(here/1 \(aaaaaaaa\)\) stops"):
        older.save("l", LaneState(2))
    assert newer.load("l") == LaneState(1)
    newer.save("l", LaneState(3))
    assert older.load("l") == LaneState(3)


def test_claiming_again_takes_it_back(path: Path) -> None:
    older = opened(path, ANNA)
    opened(path, BERT)
    assert older.claim(ANNA) == BERT
    older.save("l", LaneState(2))


def test_a_ledger_knows_itself(path: Path, tmp_path: Path) -> None:
    """Drawn once: a token on a table says which of two ledgers of one name it is from."""
    one, again = SqliteLedger(path, "p"), SqliteLedger(path, "q")
    other = SqliteLedger(tmp_path / "other.db", "p")
    assert one.identity == again.identity != other.identity
    assert one.identity


def test_blobs(path: Path) -> None:
    ledger = opened(path, ANNA)
    addresses = [ledger.blobs.write("seen", content) for content in (b"", b"\0\xff", b"x" * 10**6)]
    assert len(set(addresses)) == 3
    assert all(address.startswith("seen-") for address in addresses)
    again = SqliteLedger(path, "p")
    assert [again.blobs.read(address) for address in addresses] == [b"", b"\0\xff", b"x" * 10**6]


def test_the_same_content_is_never_the_same_blob(path: Path) -> None:
    blobs = opened(path, ANNA).blobs
    assert blobs.write("seen", b"x") != blobs.write("seen", b"x")


def test_a_lost_blob_names_the_file(path: Path) -> None:
    with pytest.raises(PositionLost, match="seen-1") as raised:
        opened(path, ANNA).blobs.read("seen-1")
    assert str(path) in str(raised.value.hint)


SECOND_PROCESS = """
import sys
from pathlib import Path
from meltline.engine.ledger import LaneState, Owner
from meltline.engine.sqlite_ledger import SqliteLedger
from meltline.errors import Fenced

ledger = SqliteLedger(Path(sys.argv[1]), "p")
ledger.claim(Owner("b" * 32, "there/2"))
for number in range(10):
    try:
        ledger.save("l", LaneState(1000 + number))
    except Fenced:
        sys.exit(3)
"""


def test_two_processes(path: Path) -> None:
    """Both write at once; whoever claimed last is the only one who gets through."""
    first = opened(path, ANNA)
    first.save("l", LaneState(1))
    second = subprocess.Popen([sys.executable, "-c", SECOND_PROCESS, str(path)])
    for _ in range(20):
        with suppress(Fenced):
            first.save("l", LaneState(2))
    assert second.wait(60) == 0
    with pytest.raises(Fenced):
        first.save("l", LaneState(2))
    assert first.owner() == BERT
    assert first.load("l") == LaneState(1009)


@pytest.mark.parametrize("place", ["a file/ledger.db", "a folder"])
def test_a_place_where_no_file_can_be_is_the_users_mistake(tmp_path: Path, place: str) -> None:
    (tmp_path / "a file").touch()
    (tmp_path / "a folder").mkdir()
    with pytest.raises(UserError, match=r"the ledger file .* cannot be"):
        SqliteLedger(tmp_path / place, "p")


def test_a_file_that_somebody_holds_may_be_free_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = opened(path, ANNA)
    monkeypatch.setattr(sqlite_ledger, "PATIENCE", 0.0)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(Retryable, match="cannot be written: database is locked"):
        ledger.save("l", LaneState(1))
    holder.execute("ROLLBACK")
    holder.close()
    ledger.save("l", LaneState(1))
    assert ledger.load("l") == LaneState(1)
