"""`make demo`: shop events into Iceberg, with two crashes on the way, then a look at the result."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from demo.check import compare, repeated_epochs
from demo.driver import ROOT, Driver
from demo.events import FILES, Stream, read_events, write_events
from demo.lake import Lake
from demo.screen import bold, say, show_table, title

HOME = ROOT / ".meltline" / "demo"
TABLES = ("shop.orders", "shop.paid", "shop.dead_letters")
CRASH = "publish.table:3"
KILL_AFTER_EPOCH = 3


class Failed(Exception):
    """The demo did not go as it must."""


def main() -> int:
    began = time.monotonic()
    print(bold("Meltline: shop events into an Iceberg table, exactly once"))
    try:
        stream = prepare()
        run_and_crash()
        run_and_kill()
        run_to_the_end()
        lake = Lake(HOME)
        show(lake)
        check(stream, lake)
    except Failed as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    say(f"{time.monotonic() - began:.0f} s in all; tables and logs are in {HOME.relative_to(ROOT)}")
    return 0


def prepare() -> Stream:
    title("1. A shop writes events")
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    write_events(HOME / "inbox")
    stream = read_events(HOME / "inbox")
    say(
        f"{stream.count:,} events in {FILES} files, {len(stream.bad)} of them broken: "
        'cut-off JSON, no id, an amount of "twelve"'
    )
    return stream


def run_and_crash() -> None:
    title("2. The pipeline runs, and dies between a commit and its ledger entry")
    say(f"MELTLINE_CRASH_AT={CRASH} meltline run demo/pipeline.yaml --once")
    code = follow(Driver(HOME / "run-1.log", {"MELTLINE_CRASH_AT": CRASH}))
    expect_kill(code)
    lake = Lake(HOME)
    newest = max(int(summary["meltline.epoch"]) for summary in lake.snapshots("shop.orders"))
    say(
        f"killed. The ledger has epoch {lake.ledger()['epoch']} as done, "
        f"but shop.orders already holds epoch {newest}"
    )


def run_and_kill() -> None:
    title("3. It starts again, and gets a kill -9 at some moment of a later epoch")
    code = follow(Driver(HOME / "run-2.log"), kill_after=KILL_AFTER_EPOCH)
    expect_kill(code)
    say("killed")


def run_to_the_end() -> None:
    title("4. It starts once more and goes on to the end")
    code = follow(Driver(HOME / "run-3.log"))
    if code:
        raise Failed(f"the last run ended with exit code {code}, see {HOME}/run-3.log")


def follow(driver: Driver, kill_after: int | None = None) -> int:
    """Tell what a run does, and kill it soon after an epoch if asked to. Returns its exit code."""
    parts: list[str] = []
    try:
        for line in driver.lines():
            if "table" in line:
                parts.append(describe(line))
            if line["message"] == "epoch done":
                say(f"epoch {line['epoch']}  {'  '.join(parts)}  ({line['seconds']:.1f} s)")
                parts = []
                if line["epoch"] == kill_after:
                    time.sleep(0.2)  # the next epoch is under way now
                    driver.kill()
            elif line["level"] in ("WARNING", "ERROR"):
                say(f"{line['message']}: {line.get('error', '')}")
        code = driver.wait()
        if code > 0:
            print(driver.tail(), file=sys.stderr)
        return code
    finally:
        driver.clean_up()


def describe(line: dict[str, Any]) -> str:
    table = str(line["table"]).removeprefix("shop.")
    if line["message"] == "epoch was published already":
        return f"{table}: was there already, skipped"
    return f"{table} +{line['rows']:,}"


def expect_kill(code: int) -> None:
    if code != -9:
        raise Failed(f"the run was to be killed, but ended with exit code {code}")


def show(lake: Lake) -> None:
    orders = lake.rows("shop.orders")
    title(f"shop.orders: {orders.num_rows:,} rows")
    show_table(orders.column_names, sample(orders))
    title("Its snapshots, each with the epoch and the files it came from")
    show_table(
        ("snapshot", "epoch", "batch id", "rows", "source files"),
        [
            (
                s["snapshot-id"],
                int(s["meltline.epoch"]),
                s["meltline.batch-id"][:8] + "…",
                int(s["meltline.rows"]),
                file_names(s),
            )
            for s in lake.snapshots("shop.orders")
        ],
    )
    letters = lake.rows("shop.dead_letters")
    title(f"shop.dead_letters: {letters.num_rows} events, the first of each kind")
    for letter in first_of_each(letters):
        source = json.loads(letter["source"])
        say(f"{letter['event'][:70]}…")
        say(f"  {Path(source['file']).name} line {source['line']}: {letter['reason']}")


def sample(orders: pa.Table) -> list[list[object]]:
    """Two old rows and two new ones, which have the field that came later."""
    rows = orders.sort_by("id")
    chosen = pa.concat_tables([rows.slice(0, 2), rows.slice(rows.num_rows - 2)]).to_pylist()
    return [
        [
            f"{v:%Y-%m-%d %H:%M}"
            if name == "at"
            else "-"
            if v is None
            else str(v)
            if name == "amount"
            else v
            for name, v in row.items()
        ]
        for row in chosen
    ]


def file_names(summary: dict[str, str]) -> str:
    return " ".join(Path(name).name for name in json.loads(summary["meltline.source.names"]))


def first_of_each(letters: pa.Table) -> list[dict[str, Any]]:
    first: dict[str, dict[str, Any]] = {}
    for letter in letters.sort_by([("epoch", "ascending"), ("ord", "ascending")]).to_pylist():
        kind = letter["reason"].partition(":")[0]
        first.setdefault(kind, letter)
    return list(first.values())


def check(stream: Stream, lake: Lake) -> None:
    title("Check: every event of the source against the tables")
    differences = compare(stream, lake)
    for one in differences:
        say(
            f"{'ok ' if one.none else 'BAD'}  {one.name}: {one.expected:,} expected, "
            f"{one.lost} lost, {one.extra} doubled or foreign"
        )
    twice = {table: found for table in TABLES if (found := repeated_epochs(lake, table))}
    say(
        f"{'BAD' if twice else 'ok '}  one snapshot per table and epoch"
        + (f", but {twice}" if twice else "")
    )
    if twice or not all(one.none for one in differences):
        raise Failed("the tables do not match the source")
    say(
        bold(
            f"{stream.count:,} events = {len(stream.good):,} rows + {len(stream.bad)} dead "
            "letters: nothing lost, nothing doubled"
        )
    )


if __name__ == "__main__":
    sys.exit(main())
