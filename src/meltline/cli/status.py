"""`meltline status`: what every lane has done, for people or for scripts."""

from __future__ import annotations

import argparse
import json

from meltline.assembly.application import opened
from meltline.config.file import load_file
from meltline.observe.status import LaneStatus


def status(options: argparse.Namespace) -> int:
    file = load_file(options.file)
    with opened(file, options.pipeline) as application:
        lanes = application.status()
    if options.json:
        print(json.dumps({"lanes": [lane.to_dict() for lane in lanes]}, indent=2))
    else:
        print("\n".join(render(lane) for lane in lanes))
    return 0


def render(lane: LaneStatus) -> str:
    if not lane.epoch and lane.pending is None:
        return f"{lane.pipeline}/{lane.lane}: nothing done yet"
    lines = [f"{lane.pipeline}/{lane.lane}: epoch {lane.epoch} done"
             + (f", epoch {lane.pending} under way" if lane.pending else "")]
    lines += [f"  table    {table} at snapshot {snapshot}"
              for table, snapshot in sorted(lane.snapshots.items())]
    if lane.lag is not None:
        lines.append(f"  waiting  {lane.lag}")
    lines.append(f"  updated  {lane.updated_at} by {lane.owner}")
    return "\n".join(lines)
