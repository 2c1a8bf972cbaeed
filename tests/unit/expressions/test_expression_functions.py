"""Every function of the language, in both shapes."""

from __future__ import annotations

import ipaddress
import json
import random
import uuid
from decimal import Decimal
from typing import Any

import pytest

from meltline.expressions import compile_condition, compile_value
from meltline.expressions.functions import SIGNATURES
from tests.unit.expressions.evaluation import (
    JSON_SHAPE,
    NOW_MS,
    condition,
    run_json,
    typed_condition,
    typed_value,
    value,
)

FAILED = object()
MILLIS = 1743551940000  # 2025-04-01T23:59:00Z
EVENT: dict[str, Any] = {
    "s": "hello-big-world",
    "n": 5,
    "null": None,
    "list": ["string", 1, True, 1.5],
    "with_null": [1, None],
    "map": {"k": [1, 2], "v": "x", "o": {"a": 1}},
    "millis": MILLIS,
    "path": "/app/src/main.py",
    "e": "",
    "ip": "192.0.2.3",
}
CASES: list[tuple[str, Any]] = [
    ("length(/s)", 15),
    ('length("abc")', 3),
    ('length("/abc")', 4),
    ("length(/list)", 4),
    ("length(/map)", 3),
    ("length(/e)", 0),
    ("length(/null)", None),
    ("length(/missing)", None),
    ("length(/n)", FAILED),
    ('length(substringAfter(/s, "-"))', 9),
    ('getMetadata("table_name")', "orders"),
    ('getMetadata("/table_name")', "orders"),
    ('getMetadata(" count ")', 5),
    ('getMetadata("nested/deep")', "down"),
    ('getMetadata("nested/list/1")', 20),
    ('getMetadata("any/k/2")', '"x"'),
    ('getMetadata("missing")', None),
    ('getMetadata("table_name/x")', None),
    ('getMetadata("")', None),
    ('getMetadata("empty")', None),
    ('hasTags("a")', True),
    ('hasTags("a", "b")', True),
    ('hasTags("a", "c")', False),
    ('contains(/s, "big")', True),
    ('contains(/s, "x")', False),
    ('contains("abc", "b")', True),
    ('contains(/missing, "b")', False),
    ("contains(/s, /missing)", False),
    ('contains(/n, "b")', FAILED),
    ("contains(/s, /n)", FAILED),
    ("contains(/missing, /n)", False),
    ('contains(getMetadata("table_name"), "der")', True),
    ('startsWith(/s, "hello")', True),
    ('startsWith(/s, "ello")', False),
    ('startsWith(/missing, "x")', False),
    ('startsWith(/n, "5")', FAILED),
    ('startsWith(/path, "/app")', True),
    ('substringAfter(/s, "-")', "big-world"),
    ('substringAfterLast(/s, "-")', "world"),
    ('substringBefore(/s, "-")', "hello"),
    ('substringBeforeLast(/s, "-")', "hello-big"),
    ('substringAfter(/s, "xyz")', "hello-big-world"),
    ('substringAfter(/s, "")', "hello-big-world"),
    ("substringAfter(/s, /missing)", "hello-big-world"),
    ('substringAfter(/missing, "-")', None),
    ('substringBefore(/n, "-")', FAILED),
    ("substringBefore(/s, /n)", FAILED),
    ('substringAfterLast(/path, "/")', "main.py"),
    ('substringBeforeLast("/app/src", "/")', "/app"),
    ('substringAfterLast("aaa", "aa")', ""),
    ('substringBefore("a.b*c", ".")', "a"),
    ('substringAfterLast("l1\\nx-l2\\ny", "-")', "l2\ny"),
    ("join(/list)", '"string,1,true,1.5"'),
    ('join(" ", /list)', '"string 1 true 1.5"'),
    (r'join("\\, ", /list)', '"string, 1, true, 1.5"'),
    ("join(/map)", '{"k":"1,2","v":"x","o":{"a":1}}'),
    ("join(/missing)", FAILED),
    ("join(/with_null)", FAILED),
    ("join(/n)", FAILED),
    ("getEventType()", "event"),
    ("now()", NOW_MS),
    ("now() - 1000", NOW_MS - 1000),
    ('formatDateTime(/millis, "yyyy-MM-dd HH:mm:ss")', "2025-04-01 23:59:00"),
    ("formatDateTime(/millis, \"'y='yyyy'/m='MM\", \"UTC-8\")", "y=2025/m=04"),
    ('formatDateTime(/millis, "HH:mm XXX", "Europe/Paris")', "01:59 +02:00"),
    ('formatDateTime(/millis, "HH:mm X", "+05:30")', "05:29 +0530"),
    ('formatDateTime(/s, "yyyy")', FAILED),
    ('formatDateTime(/missing, "yyyy")', FAILED),
    ('cidrContains(/ip, "192.0.2.0/24")', True),
    ('cidrContains(/ip, "10.0.0.0/8", "192.0.0.0/16")', True),
    ('cidrContains(/ip, "10.0.0.0/8")', False),
    ('cidrContains(/missing, "10.0.0.0/8")', False),
    ('cidrContains(/s, "0.0.0.0/0")', False),
    ('cidrContains(/n, "0.0.0.0/0")', False),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_json_events(text: str, expected: Any) -> None:
    found, _, failed = value(text, EVENT)
    assert failed is (expected is FAILED)
    assert found == (None if expected is FAILED else expected)


@pytest.mark.parametrize("text", [text for text, expected in CASES if expected is FAILED])
def test_a_failure_makes_the_whole_condition_false(text: str) -> None:
    assert condition(f"({text}) == null or true", EVENT) is False
    assert condition(f"not (({text}) == 1)", EVENT) is False


def test_every_function_has_a_case() -> None:
    apart = {"generateUuid", "toJsonString"}
    assert {name for name in SIGNATURES if not any(name in text for text, _ in CASES)} == apart


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("length(/s)", (3, "BIGINT")),
        ("length(/list)", (3, "BIGINT")),
        ("length(/map)", (1, "BIGINT")),
        ("length(/o)", (2, "BIGINT")),
        ("length(/j)", (1, "BIGINT")),
        ("length(/gone)", (None, "BIGINT")),
        ("length(/n)", (None, "json")),
        ("/o/y", ({"z": "deep"}, "STRUCT(z VARCHAR)")),
        ("/dec", (Decimal("12.50"), "DECIMAL(10,2)")),
        ("/j/a/0", ("1.5", "json")),
        ("/nowhere", (None, "json")),
        ("/n + 1", (8, "BIGINT")),
        ("/n * 1.5", (10.5, "DOUBLE")),
        ("/dec * 2", (25.0, "DOUBLE")),
        ("-/d", (-2.5, "DOUBLE")),
        ('/s + "d"', ("abcd", "VARCHAR")),
        ("/n > 5", (True, "BOOLEAN")),
        ("join(/list)", ('"1,2,3"', "json")),
        ('formatDateTime(/ts, "dd MMM yyyy HH:mm")', ("06 May 2024 07:08", "VARCHAR")),
        ('formatDateTime(/ts, "HH:mm Z", "UTC", "Europe/Paris")', ("05:08 +0000", "VARCHAR")),
        ('formatDateTime(/day, "EEE", "UTC")', ("Mon", "VARCHAR")),
        ('substringBefore(/s, "c")', ("ab", "VARCHAR")),
        ("getEventType()", ("event", "VARCHAR")),
        ('getMetadata("ratio")', (1.5, "DOUBLE")),
    ],
)
def test_typed_events(text: str, expected: tuple[Any, str]) -> None:
    assert typed_value(text) == expected


def test_typed_tests() -> None:
    assert typed_condition('contains(/s, "b") and startsWith(/s, "a") and hasTags("b")') is True
    assert typed_condition('startsWith(/n, "7") or true') is False
    assert typed_condition('startsWith(/gone, "7")') is False
    assert typed_condition('cidrContains(/s, "10.0.0.0/8")') is False


@pytest.mark.parametrize(
    ("iso", "expected"),
    [
        ("2025-04-01T23:59:00Z", "2025-04-01T23:59:00.000Z"),
        ("2025-04-01T23:59:00+02:00", "2025-04-01T21:59:00.000Z"),
        ("2025-04-01T23:59:00.123456789Z", "2025-04-01T23:59:00.123Z"),
        ("2025-04-01T23:59", "2025-04-01T21:59:00.000Z"),
        ("2025-04-01T23:59:00+02:00[Europe/Paris]", "2025-04-01T21:59:00.000Z"),
        ("2025-04-01 23:59:00", None),
        ("2025-13-01T23:59:00", None),
        ("tomorrow", None),
    ],
)
def test_iso_texts_are_in_the_source_zone_unless_they_name_one(
    iso: str, expected: str | None
) -> None:
    pattern = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"
    text = f'formatDateTime(/t, "{pattern}", "UTC", "Europe/Paris")'
    assert value(text, {"t": iso})[0] == expected


def test_uuids_depend_on_epoch_place_and_event_alone() -> None:
    sql = compile_value("generateUuid()", JSON_SHAPE, salt="0.1").sql
    first, again = run_json(sql, ["{}", "{}"]), run_json(sql, ["{}", "{}"])
    assert first == again
    assert len(set(first)) == 2
    assert all(uuid.UUID(text).version == 4 for text in first)
    other = run_json(compile_value("generateUuid()", JSON_SHAPE, salt="0.2").sql, ["{}"])
    assert other[0] not in first
    two = run_json(compile_value("generateUuid() + generateUuid()", JSON_SHAPE).sql, ["{}"])[0]
    assert two[:36] != two[36:]


def test_the_whole_event_as_text() -> None:
    assert value("toJsonString()", '{"a": 1.50}')[0] == '{"a": 1.50}'
    assert json.loads(typed_value("toJsonString()")[0])["o"] == {"x": 1, "y": {"z": "deep"}}


JUNK = ["", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1:2:3", ":::", "1::2::3", "12345::", "g::", "1:",
        ":1", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::8:9", "::1.2.3.256", "10.0.0.1/8",
        "1:2:3:4:5:6:7:", "::1%eth0", " 10.0.0.1"]  # fmt: skip


def _random_address(chance: random.Random) -> str:
    if chance.random() < 0.4:
        return str(ipaddress.IPv4Address(chance.getrandbits(32) & chance.choice((-1, 0xC0A800FF))))
    address = ipaddress.IPv6Address(chance.getrandbits(128) & chance.choice((-1, 0xFFFF, ~0xFFFF)))
    return chance.choice((address.compressed, address.exploded, address.compressed.upper()))


def test_networks_agree_with_the_standard_library() -> None:
    chance = random.Random(7)
    addresses = [_random_address(chance) for _ in range(300)]
    addresses += ["::", "::1", "1::", "::ffff:192.168.0.1", "fe80::1", "255.255.255.255", "0.0.0.0"]
    bodies = [json.dumps({"ip": text}) for text in addresses + JUNK]
    for _ in range(12):
        networks = []
        for _ in range(chance.randint(1, 3)):
            address = ipaddress.ip_address(chance.choice(addresses))
            networks.append(f"{address}/{chance.randint(0, address.max_prefixlen)}")
        quoted = ", ".join(f'"{network}"' for network in networks)
        found = run_json(compile_condition(f"cidrContains(/ip, {quoted})", JSON_SHAPE), bodies)
        blocks = [ipaddress.ip_network(network, strict=False) for network in networks]
        expected = [any(ipaddress.ip_address(text) in block for block in blocks)
                    for text in addresses]  # fmt: skip
        assert found == expected + [False] * len(JUNK)
