from __future__ import annotations

import pytest

from meltline.config.refused import Refused
from meltline.config.size import format_size, parse_size, read_size


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ("10b", 10),
        ("0b", 0),
        ("1kb", 1024),
        ("64mb", 64 * 1024**2),
        ("1.5gb", 1536 * 1024**2),
        ("1.kb", 1024),
        ("0.3kb", 307),
        ("64 mb", 64 * 1024**2),
        ("4096", 4096),
        (4096, 4096),
    ],
)
def test_sizes(value: object, count: int) -> None:
    assert read_size(value) == count


@pytest.mark.parametrize(
    ("value", "what", "likely"),
    [
        ("64MB", '"64MB" is not a size', "64mb"),
        ("4g", '"4g" is not a size', "4gb"),
        ("16MiB", '"16MiB" is not a size', "16mb"),
        ("1.5b", '"1.5b" is not a whole number of bytes', None),
        ("much", '"much" is not a size', None),
        ("-1mb", '"-1mb" is not a size', None),
        (-1, '"-1" is not a size', None),
        (1.5, "expected a size, found a number", None),
        (True, "expected a size, found true or false", None),
        (None, "expected a size, found nothing", None),
    ],
)
def test_what_is_no_size(value: object, what: str, likely: str | None) -> None:
    with pytest.raises(Refused) as raised:
        read_size(value)
    assert raised.value.what == what
    meant = f'did you mean "{likely}"? ' if likely else ""
    expected = f"{meant}write 10b, 512kb, 64mb, 1.5gb, or a plain number of bytes"
    assert raised.value.hint == expected


@pytest.mark.parametrize("text", ["0b", "10b", "1kb", "1536mb", "10gb"])
def test_the_short_form_says_the_same(text: str) -> None:
    assert format_size(parse_size(text)) == text
