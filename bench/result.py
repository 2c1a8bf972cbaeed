"""What a benchmark says: two times measured side by side in one run, and their ratio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Result:
    name: str
    ours_s: float
    peer: str
    peer_s: float
    rows: int

    @property
    def ratio(self) -> float:
        return self.peer_s / self.ours_s

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "ours_s": round(self.ours_s, 3), "peer": self.peer,
                "peer_s": round(self.peer_s, 3), "ratio": round(self.ratio, 2), "rows": self.rows}


def render(results: Sequence[Result]) -> str:
    lines = [f"{'benchmark':<22}{'rows':>12}{'ours':>10}{'peer':>10}{'ratio':>8}  peer"]
    lines += [f"{r.name:<22}{r.rows:>12,}{r.ours_s:>9.2f}s{r.peer_s:>9.2f}s{r.ratio:>7.1f}x  "
              f"{r.peer}" for r in results]
    return "\n".join(lines)
