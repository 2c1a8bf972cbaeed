from __future__ import annotations

from datetime import timedelta

import pytest

from meltline.config.duration import format_duration, parse_duration, read_duration
from meltline.config.refused import Refused


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("500ms", timedelta(milliseconds=500)),
        ("0s", timedelta()),
        ("30s", timedelta(seconds=30)),
        ("5m", timedelta(minutes=5)),
        ("1h", timedelta(hours=1)),
        ("1d", timedelta(days=1)),
        (" 10 s ", timedelta(seconds=10)),
        ("PT30S", timedelta(seconds=30)),
        ("PT5M", timedelta(minutes=5)),
        ("PT0S", timedelta()),
        ("P1D", timedelta(days=1)),
        ("pt1h", timedelta(hours=1)),
        ("P1DT2H3M4.5S", timedelta(days=1, hours=2, minutes=3, seconds=4, milliseconds=500)),
        ("PT20.345S", timedelta(seconds=20, milliseconds=345)),
        ("PT0.000001S", timedelta(microseconds=1)),
    ],
)
def test_durations(text: str, length: timedelta) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", '"" is not a duration'),
        ("30", '"30" has no unit'),
        ("5 minutes", '"5 minutes" is not a duration'),
        ("-5s", '"-5s" is not a duration'),
        ("1.5h", '"1.5h" is not a duration'),
        ("30S", '"30S" is not a duration'),
        ("P", '"P" is not a duration'),
        ("PT", '"PT" is not a duration'),
        ("P1DT", '"P1DT" is not a duration'),
        ("P1M", '"P1M" is not a duration'),
        ("PT1M30", '"PT1M30" is not a duration'),
        ("999999999999d", '"999999999999d" is too long a duration'),
        ("9" * 100 + "s", f'"{"9" * 100}s" is not a duration'),
    ],
)
def test_what_is_no_duration(text: str, what: str) -> None:
    with pytest.raises(Refused) as raised:
        parse_duration(text)
    assert raised.value.what == what
    assert "PT30S" in (raised.value.hint or "")


def test_values_that_are_not_texts() -> None:
    assert read_duration(timedelta(seconds=3)) == timedelta(seconds=3)
    with pytest.raises(Refused, match="expected a duration, found true or false"):
        read_duration(True)
    with pytest.raises(Refused, match='"30" has no unit'):
        read_duration(30)


@pytest.mark.parametrize("text", ["0s", "500ms", "30s", "90s", "5m", "1h", "36h", "2d"])
def test_the_short_form_says_the_same(text: str) -> None:
    assert format_duration(parse_duration(text)) == text
