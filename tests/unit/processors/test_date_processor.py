"""date, in both shapes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.processors.running import TYPED_ROW, changed, run_typed

# The time of the epoch in these tests is 2023-11-14T22:13:20Z.


def block(*patterns: str, **options: Any) -> dict[str, Any]:
    return {"date": {"match": [{"key": "t", "patterns": list(patterns)}], **options}}


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2024-05-06T07:08:09.123+02:00",
         "2024-05-06T05:08:09.123Z"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2024-05-06T07:08:09.123Z", "2024-05-06T07:08:09.123Z"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2024-05-06T07:08:09.12Z", None),
        ("yyyy-MM-dd'T'HH:mm:ssX", "2024-05-06T07:08:09+0530", "2024-05-06T01:38:09.000Z"),
        ("yyyy-MM-dd'T'HH:mm:ssX", "2024-05-06T07:08:09-08", "2024-05-06T15:08:09.000Z"),
        ("yyyy-MM-dd HH:mm:ss", "2024-05-06 07:08:09", "2024-05-06T07:08:09.000Z"),
        ("yyyy-MM-dd HH:mm:ss", "2024-5-6 07:08:09", None),
        ("yyyy-M-d H:m:s", "2024-5-6 7:8:9", "2024-05-06T07:08:09.000Z"),
        ("yyyy-MM-dd", "2024-02-30", None),
        ("yyyy-MM-dd", "2024-02-29", "2024-02-29T00:00:00.000Z"),
        ("yyyyMMddHHmmss", "20240506070809", "2024-05-06T07:08:09.000Z"),
        ("dd/MMM/yyyy:HH:mm:ss Z", "10/Oct/2000:13:55:36 -0700", "2000-10-10T20:55:36.000Z"),
        ("EEE, dd MMM yyyy HH:mm z", "Mon, 06 May 2024 07:08 UTC", "2024-05-06T07:08:00.000Z"),
        ("yyyy-MM-dd HH:mm VV", "2024-05-06 07:08 Europe/Paris", "2024-05-06T05:08:00.000Z"),
        ("yyyy-MM-dd HH:mm VV", "2024-05-06 07:08 Mars/Base", None),
        ("dd MMMM yyyy hh:mm a", "06 May 2024 07:08 PM", "2024-05-06T19:08:00.000Z"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSSSS", "2024-05-06T07:08:09.123456", "2024-05-06T07:08:09.123Z"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS", "2024-05-06T07:08:09.123456789",
         "2024-05-06T07:08:09.123Z"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSSXXX", "2024-05-06T07:08:09.123456789+01:00",
         "2024-05-06T06:08:09.123Z"),
        ("'at' yyyy/DDD ''%", "at 2024/127 '%", "2024-05-06T00:00:00.000Z"),
        # what the text lacks is that of the epoch
        ("MMM d HH:mm:ss", "May 6 07:08:09", "2023-05-06T07:08:09.000Z"),
        ("HH:mm", "07:08", "2023-11-14T07:08:00.000Z"),
        ("yyyy", "2024", "2024-11-14T00:00:00.000Z"),
        ("yyyy-MM-dd", "nonsense", None),
        ("epoch_second", "1714979289", "2024-05-06T07:08:09.000Z"),
        ("epoch_milli", "1714979289123", "2024-05-06T07:08:09.123Z"),
        ("epoch_micro", "1714979289123456", "2024-05-06T07:08:09.123Z"),
        ("epoch_nano", "1714979289123456789", "2024-05-06T07:08:09.123Z"),
        ("epoch_nano", "-1", "1969-12-31T23:59:59.999Z"),
        ("epoch_second", "1.5", None),
        ("epoch_second", "9223372036854775807", None),
    ],
)  # fmt: skip
def test_reading(pattern: str, text: str, expected: str | None) -> None:
    found = changed(block(pattern), {"t": text, "n": 1})
    assert found == {"t": text, "n": 1, **({"@timestamp": expected} if expected else {})}


def test_numbers_and_other_values() -> None:
    for event, expected in (
        ({"t": 1714979289}, "2024-05-06T07:08:09.000Z"),
        ({"t": None}, None),
        ({"t": {"x": 1}}, None),
        ({}, None),
    ):
        assert changed(block("epoch_second"), event).get("@timestamp") == expected


def test_the_first_pattern_that_fits() -> None:
    config = block("yyyy-MM-dd", "dd.MM.yyyy", "epoch_milli")
    for text in ("2024-05-06", "06.05.2024", "1714953600000"):
        assert changed(config, {"t": text})["@timestamp"] == "2024-05-06T00:00:00.000Z"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"source_timezone": "Europe/Paris"}, "2024-05-06T05:08:09.000Z"),
        ({"source_timezone": "+02:00"}, "2024-05-06T05:08:09.000Z"),
        ({"source_timezone": "UTC-8"}, "2024-05-06T15:08:09.000Z"),
        ({"destination_timezone": "Europe/Paris"}, "2024-05-06T09:08:09.000+02:00"),
        ({"destination_timezone": "America/St_Johns"}, "2024-05-06T04:38:09.000-02:30"),
        ({"destination_timezone": "-03:30"}, "2024-05-06T03:38:09.000-03:30"),
        ({"output_format": "yyyy/MM/dd"}, "2024/05/06"),
        ({"output_format": "EEE, d MMM yyyy h:mm a"}, "Mon, 6 May 2024 7:08 AM"),
        ({"output_format": "EEEE D"}, None),
        ({"output_format": "HH:mm:ss.S SSSSSSSSS"}, "07:08:09.0 000000000"),
        ({"output_format": "HH:mm X", "destination_timezone": "Asia/Kolkata"}, "12:38 +0530"),
        ({"output_format": "HH:mm X", "destination_timezone": "Europe/Paris"}, "09:08 +02"),
        ({"output_format": "HH:mm Z", "destination_timezone": "Europe/London"}, "08:08 +0100"),
        ({"output_format": "HH:mm xxx"}, "07:08 +00:00"),
        ({"output_format": "'it''s' HH% 'o''clock'"}, "it's 07% o'clock"),
        ({"output_format": "epoch_second"}, "1714979289"),
        ({"output_format": "epoch_milli"}, "1714979289000"),
        ({"output_format": "epoch_micro"}, "1714979289000000"),
        ({"output_format": "epoch_nano"}, "1714979289000000000"),
    ],
)
def test_writing(options: dict[str, Any], expected: str | None) -> None:
    if expected is None:
        with pytest.raises(ValueError, match="not supported"):
            changed(block("yyyy", **options), {})
        return
    found = changed(block("yyyy-MM-dd HH:mm:ss", **options), {"t": "2024-05-06 07:08:09"})
    assert found["@timestamp"] == expected


def test_destination_and_condition() -> None:
    config = block("yyyy", destination="o/at", date_when="/go", output_format="yyyy")
    assert changed(config, {"t": "2024", "go": True})["o"] == {"at": "2024"}
    assert changed(config, {"t": "2024", "go": False}) == {"t": "2024", "go": False}
    onto_itself = block("dd.MM.yyyy", destination="t", output_format="yyyy-MM-dd")
    assert changed(onto_itself, {"t": "06.05.2024"}) == {"t": "2024-05-06"}
    assert changed(onto_itself, {"t": "?"}) == {"t": "?"}


def test_the_time_of_the_epoch() -> None:
    found = changed({"date": {"from_time_received": True}}, {"a": 1})
    assert found == {"a": 1, "@timestamp": "2023-11-14T22:13:20.000Z"}


def test_typed_events() -> None:
    match = [{"key": "name", "patterns": ["dd.MM.yyyy"]}]
    rows, shape = run_typed(
        [{"date": {"match": match}}],
        [{**TYPED_ROW, "name": "06.05.2024"}, {**TYPED_ROW, "name": "?"}],
    )
    assert [r["row"]["@timestamp"] for r in rows] == ["2024-05-06T00:00:00.000Z", None]
    assert shape.fields["@timestamp"] == "VARCHAR"
    onto = {"date": {"match": match, "destination": "name", "output_format": "yyyy"}}
    rows, _ = run_typed([onto], [{**TYPED_ROW, "name": "06.05.2024"}, TYPED_ROW])
    assert [r["row"]["name"] for r in rows] == ["2024", "abc"]


def test_typed_times_need_no_pattern() -> None:
    match = [{"key": "ts", "patterns": ["yyyy"]}]
    config = {"date": {"match": match, "source_timezone": "Europe/Paris", "destination": "x"}}
    rows, _ = run_typed([config])
    assert rows[0]["row"]["x"] == "2024-05-06T05:08:09.000Z"
    missing = {"date": {"match": [{"key": "zz", "patterns": ["yyyy"]}]}}
    rows, _ = run_typed([missing])
    assert rows[0]["row"]["@timestamp"] is None


def test_text_with_quotes_in_keys() -> None:
    config = {"date": {"match": [{"key": "it's", "patterns": ["yyyy"]}], "output_format": "yyyy"}}
    assert json.dumps(changed(config, {"it's": "2024"})["@timestamp"]) == '"2024"'
