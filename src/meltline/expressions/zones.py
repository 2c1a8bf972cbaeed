"""Time zones as Data Prepper writes them: `UTC`, `Europe/Paris`, `+02:00`, `UTC-8`, `GMT+5:30`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from meltline.expressions.quoting import quote_literal
from meltline.expressions.trial import refusal

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")


@dataclass(frozen=True)
class Zone:
    """A fixed offset (`minutes`) or, when that is None, a zone of the tz database (`name`)."""

    name: str
    minutes: int | None = None

    def local(self, instant: str) -> str:
        """SQL of the wall clock here at an instant; both are TIMESTAMP, the instant in UTC."""
        if self.minutes is None:
            return f"timezone({quote_literal(self.name)}, timezone('UTC', {instant}))"
        return f"({instant} + INTERVAL ({self.minutes}) MINUTE)" if self.minutes else instant

    def instant(self, local: str) -> str:
        """SQL of the instant (TIMESTAMP in UTC) at which the clock here shows `local`."""
        if self.minutes is None:
            return f"timezone('UTC', timezone({quote_literal(self.name)}, {local}))"
        return f"({local} - INTERVAL ({self.minutes}) MINUTE)" if self.minutes else local


UTC = Zone("UTC", 0)


def parse_zone(text: str) -> Zone:
    """Raises ValueError for a zone that nobody knows."""
    name = text.strip()
    if name in ("Z", "UTC", "GMT", "UT"):
        return Zone(name, 0)
    match = _OFFSET.fullmatch(name)
    if match:
        sign, hours, minutes = match.group(1), int(match.group(2)), int(match.group(3) or 0)
        if hours > 18 or minutes > 59:
            raise ValueError(f'"{text}" is not a time zone')
        return Zone(name, (hours * 60 + minutes) * (1 if sign == "+" else -1))
    if refusal("SELECT timezone(?, TIMESTAMP '2000-01-01')", [name]):
        raise ValueError(f'"{text}" is not a time zone')
    return Zone(name)
