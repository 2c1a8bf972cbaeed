"""The stream of shop events: what a shop might write, some of it broken."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

FILES = 10
PER_FILE = 2000
_START = datetime(2026, 3, 1, 8, tzinfo=timezone.utc)
_CUSTOMERS = ("ada", "grace", "edsger", "barbara", "donald")
_ITEMS = ("tea", "kettle", "cup", "tray", "sugar")
_STATES = ("NEW", "PAID", "PAID", "SHIPPED")


@dataclass(frozen=True)
class Stream:
    """What the inbox holds, read back by plain Python: the truth that the tables must match."""

    good: tuple[dict[str, Any], ...]
    bad: tuple[str, ...]

    @property
    def count(self) -> int:
        return len(self.good) + len(self.bad)


def write_events(inbox: Path, seed: int = 1) -> None:
    """Each file is written aside and renamed into place. The same seed gives the same bytes."""
    draw = random.Random(seed)
    inbox.mkdir(parents=True)
    for number in range(FILES):
        hidden = inbox / f".{number:03d}.tmp"
        hidden.write_text("".join(f"{line}\n" for line in _lines(number, draw)), encoding="utf-8")
        hidden.rename(inbox / f"{number:03d}.ndjson")


def _lines(number: int, draw: random.Random) -> Iterator[str]:
    broken = dict(zip(draw.sample(range(PER_FILE), 3), _BREAK, strict=True))
    for index in range(PER_FILE):
        event = _event(number * PER_FILE + index + 1, number, draw)
        yield broken[index](event) if index in broken else json.dumps(event)


def _event(id_: int, number: int, draw: random.Random) -> dict[str, Any]:
    at = _START + timedelta(seconds=10 * id_)
    event = {
        "id": id_,
        "at": at.isoformat(),
        "customer": draw.choice(_CUSTOMERS),
        "item": draw.choice(_ITEMS),
        "amount": draw.randint(100, 99999) / 100,
        "status": draw.choice(_STATES),
    }
    if number >= FILES // 2:  # the shop invents a new field half-way
        event["coupon"] = draw.choice(("SPRING", "FRIEND"))
    return event


def _cut_off(event: dict[str, Any]) -> str:
    return json.dumps(event)[:40]


def _without_id(event: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in event.items() if key != "id"} | _NEW)


def _bad_amount(event: dict[str, Any]) -> str:
    return json.dumps(event | {"amount": "twelve"} | _NEW)


_NEW = {"status": "NEW"}
_BREAK = (_cut_off, _without_id, _bad_amount)


def read_events(inbox: Path) -> Stream:
    """Judges every line by itself, without Meltline."""
    good, bad = [], []
    for file in sorted(inbox.glob("*.ndjson")):
        for line in file.read_text(encoding="utf-8").splitlines():
            event = _parsed(line)
            if event is None:
                bad.append(line)
            else:
                good.append(event)
    return Stream(tuple(good), tuple(bad))


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        event: dict[str, Any] = json.loads(line, parse_float=Decimal)
    except ValueError:
        return None
    usable = isinstance(event.get("id"), int) and isinstance(event.get("amount"), Decimal | int)
    return event if usable else None
