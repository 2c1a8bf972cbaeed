"""Dead letters as files: in Data Prepper's form, once, whatever the event holds."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from meltline.engine.work import TaskPlace
from meltline.errors import RunError, UserError
from meltline.model.dead_letter import DEAD_LETTERS
from meltline.sinks.file.letters import FileLetters, dlq_object, letter_name
from tests.unit.engine.epochs import epoch

AT = datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=timezone.utc)


def letter(event: str = '{"n":1}', **changes: Any) -> dict[str, Any]:
    return {"pipeline": "p", "sink": "db.t", "epoch": 3, "ord": 5, "reason": "no 'é'",
            "event": event, "source": '{"file":"a.json","line":7}', "failed_at": AT, **changes}


def stage(
    target: FileLetters, shard: int, attempt: str, *letters: dict[str, Any]
) -> tuple[str, ...]:
    place = TaskPlace("p", "l", 3, 0, shard, attempt)
    opened = target.writer(epoch()).open(place)
    for one in letters:
        opened.add(pa.Table.from_pylist([one], DEAD_LETTERS))
    return tuple(opened.finish())


def published(folder: Path) -> dict[str, list[Any]]:
    return {path.name: [one["failedData"]["document"]
                        for one in json.loads(path.read_text(encoding="utf-8"))["dlqObjects"]]
            for path in sorted(folder.glob("*.json"))}


def test_the_form_of_data_prepper() -> None:
    assert json.loads(dlq_object(letter())) == {
        "pluginId": "iceberg", "pluginName": "iceberg", "pipelineName": "p",
        "failedData": {"sink": "db.t", "epoch": 3, "message": "no 'é'",
                       "source": {"file": "a.json", "line": 7}, "document": {"n": 1}},
        "timestamp": "2023-11-14T22:13:20.123Z"}


AS_THEY_ARE = ['{"n":1.10}', '{"n":12345678901234567890.123456789}', '{"n":1e400}',
               '{"a":1,"a":2}', '{"a":"\\ud800"}', '{"é😀":"\\u0000"}', ' { "a" :\n1 } ', "{}",
               '{"n":' + "9" * 5000 + "}", '{"a":"\\u2028 "}']  # fmt: skip


@pytest.mark.parametrize("event", AS_THEY_ARE, ids=lambda event: event[:30])
def test_an_object_stays_as_it_arrived(event: str) -> None:
    text = dlq_object(letter(event))
    assert f'"document":{event}}}' in text
    assert text.encode()
    assert json.loads(text, parse_int=str)["failedData"]["message"] == "no 'é'"


AS_TEXT = ["", "no json", "[1]", "5", '"x"', "null", '{"a":NaN}', '{"a":1,}', '{"a":Infinity}',
           '{"a":' * 100_000, "a\0b", 'é"\\\n']  # fmt: skip


@pytest.mark.parametrize("event", AS_TEXT, ids=lambda event: repr(event[:30]))
def test_anything_else_is_text(event: str) -> None:
    assert json.loads(dlq_object(letter(event)))["failedData"]["document"] == event


def test_nothing_is_there_before_publishing(tmp_path: Path) -> None:
    target = FileLetters(str(tmp_path))
    assert stage(target, 0, "a") == ()
    assert list(tmp_path.iterdir()) == []
    reports = stage(target, 0, "a", letter(), letter('{"n":2}'))
    assert published(tmp_path) == {}
    done = target.publish(epoch(), reports, "owner")
    assert (done.table, done.files, done.rows) == (str(tmp_path), 1, 2)
    assert published(tmp_path) == {letter_name(epoch(), 0): [{"n": 1}, {"n": 2}]}


def test_a_file_per_shard(tmp_path: Path) -> None:
    target = FileLetters(str(tmp_path))
    reports = [*stage(target, 0, "a", letter('{"n":0}')), *stage(target, 1, "a", letter("x"))]
    target.publish(epoch(), reports, "owner")
    assert published(tmp_path) == {
        letter_name(epoch(), 0): [{"n": 0}], letter_name(epoch(), 1): ["x"]}


def test_publishing_again_changes_nothing(tmp_path: Path) -> None:
    target = FileLetters(str(tmp_path))
    reports = stage(target, 0, "a", letter())
    target.publish(epoch(), reports, "owner")
    target.publish(epoch(), reports, "owner")
    assert published(tmp_path) == {letter_name(epoch(), 0): [{"n": 1}]}


def test_a_replay_replaces_what_was_published(tmp_path: Path) -> None:
    target = FileLetters(str(tmp_path))
    target.publish(epoch(), stage(target, 0, "first", letter()), "owner")
    target.publish(epoch(), stage(target, 0, "second", letter()), "owner")
    assert published(tmp_path) == {letter_name(epoch(), 0): [{"n": 1}]}
    assert list((tmp_path / ".staging").iterdir()) == []


def test_letters_that_the_driver_cannot_see(tmp_path: Path) -> None:
    """A worker wrote them to a disk of its own: saying nothing would lose them."""
    target = FileLetters(str(tmp_path))
    reports = stage(target, 0, "a", letter())
    for staged in (tmp_path / ".staging").iterdir():
        staged.unlink()
    with pytest.raises(RunError, match="the dead letters of a task are not in") as raised:
        target.publish(epoch(), reports, "owner")
    assert "every worker share" in str(raised.value.hint)


def test_names_follow_from_the_epoch() -> None:
    name = letter_name(epoch(), 0)
    assert name.startswith("dlq-v0-p-iceberg-2023-11-14T22:13:20.123Z-")
    names = {letter_name(epoch(number, lane=lane), shard)
             for number in (3, 4) for lane in ("l", "m") for shard in (0, 1)}
    assert len(names) == 8
    assert name in names


def test_checking_makes_the_folder(tmp_path: Path) -> None:
    FileLetters(str(tmp_path / "a" / "b")).check()
    assert (tmp_path / "a" / "b").is_dir()


def test_equal_places_have_equal_keys() -> None:
    assert FileLetters("s3://b/dlq", {"s3.secret": "x"}).key == "file:s3://b/dlq"
    assert "hush" not in repr(FileLetters("s3://b/dlq", {"s3.secret": "hush"}))


def test_files_remember_no_epoch(tmp_path: Path) -> None:
    assert FileLetters(str(tmp_path)).token("p", "l") is None


def test_letters_of_an_epoch_are_found_once_they_are_published(tmp_path: Path) -> None:
    target = FileLetters(str(tmp_path / "dlq"))
    assert not target.find(epoch())
    staged = stage(target, 1, "a", letter())
    assert not target.find(epoch())
    target.publish(epoch(), staged, "me")
    assert target.find(epoch())
    assert not target.find(replace(epoch(4), planned_at_ms=epoch().planned_at_ms + 1))


def test_a_place_where_no_folder_can_be_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    with pytest.raises(UserError, match="dead letters cannot be written to"):
        FileLetters(str(tmp_path / "a file" / "dlq")).check()
