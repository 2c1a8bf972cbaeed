"""The power is cut at every step: every event is published exactly once all the same."""

from __future__ import annotations

import random

import pytest

from meltline.engine.crash import POINTS
from meltline.engine.lane import SinkEnd
from meltline.errors import Retryable
from meltline.testing import ListSource, MemoryLetters, MemorySink, PowerCut, cut_power_at
from tests.unit.engine.lanes import World

EVENTS = [f'{{"n":{number}}}' if number % 7 else f'{{"n":"x{number}"}}' for number in range(15)]


def make_world(columns: set[str] | None = None) -> World:
    """Two tables and two dead-letter targets, two epochs of one task."""
    ends = (SinkEnd(MemorySink("one", refuses="x", columns=columns), letters="letters"),
            SinkEnd(MemorySink("two", refuses="x"), letters="more"))
    return World(ListSource(list(EVENTS), per_epoch=8, per_chunk=8), ends,
                 (MemoryLetters("letters"), MemoryLetters("more")), parallelism=1)


def check(world: World, events: list[str] | None = None) -> None:
    events = EVENTS if events is None else events
    for end in world.ends:
        assert isinstance(end.sink, MemorySink)
        assert end.sink.rows == [event for event in events if "x" not in event]
    for target in world.letters:
        assert [letter["event"] for letter in target.letters] == [
            event for event in events if "x" in event]


def times_reached(point: str) -> int:
    """How often an undisturbed run of two epochs reaches a point."""
    reached: list[str] = []
    make_world().run(crash=reached.append)
    return reached.count(point)


CUTS = [(point, time) for point in POINTS for time in range(1, times_reached(point) + 1)]


def test_every_point_is_reached_in_every_epoch() -> None:
    assert {point: times_reached(point) for point in POINTS} == {
        "plan": 2, "record": 2, "write": 2, "publish.letters": 4, "publish.table": 4,
        "publish": 2, "done": 2}


@pytest.mark.parametrize(("point", "time"), CUTS)
def test_a_cut(point: str, time: int) -> None:
    world = make_world()
    with pytest.raises(PowerCut):
        world.run(cut_power_at(point, time))
    world.run()
    check(world)


@pytest.mark.parametrize("first", POINTS)
@pytest.mark.parametrize("second", POINTS)
def test_two_cuts_in_a_row(first: str, second: str) -> None:
    world = make_world()
    with pytest.raises(PowerCut):
        world.run(cut_power_at(first))
    try:
        world.run(cut_power_at(second))
    except PowerCut:
        world.run()
    check(world)


@pytest.mark.parametrize("point", POINTS)
def test_a_cut_while_the_schema_grows(point: str) -> None:
    world = make_world(columns=set())
    with pytest.raises(PowerCut):
        world.run(cut_power_at(point))
    world.run()
    check(world)


@pytest.mark.parametrize("point", POINTS)
def test_a_cut_with_the_ledger_lost_as_well(point: str) -> None:
    """Only where nothing was published yet may the lane begin anew; a table's token decides."""
    world = make_world()
    world.run()
    world.source.bodies += ['{"n":100}', '{"n":"x101"}', '{"n":102}']
    with pytest.raises(PowerCut):
        world.run(cut_power_at(point))
    world.ledger.lanes.clear()
    world.run()
    check(world, world.source.bodies)


@pytest.mark.parametrize("seed", range(8))
def test_cuts_and_failures_at_random(seed: int) -> None:
    chance = random.Random(seed)
    world = make_world()
    world.source.per_epoch = chance.randint(1, 12)
    world.source.per_chunk = chance.randint(2, 8)
    for number in range(12):
        world.parallelism = chance.randint(1, 2)
        for end in world.ends:
            assert isinstance(end.sink, MemorySink)
            if chance.random() < 0.3:
                chance.choice([end.sink.failures, end.sink.lost_answers]).append(Retryable("no"))
        try:
            world.run(cut_power_at(chance.choice(POINTS), chance.randint(1, 4)))
        except (PowerCut, Retryable):
            pass
        else:
            world.source.bodies.append(f'{{"n":{1000 + number}}}')
    for end in world.ends:
        assert isinstance(end.sink, MemorySink)
        end.sink.failures.clear()
        end.sink.lost_answers.clear()
    world.run()
    check(world, world.source.bodies)
