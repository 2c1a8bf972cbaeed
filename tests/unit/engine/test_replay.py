"""A recorded epoch runs again, with the same configuration or with another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from meltline.engine.crash import POINTS
from meltline.engine.epoch import Epoch
from meltline.engine.lane import SinkEnd
from meltline.engine.sink import Published
from meltline.errors import ConfigurationChanged, Retryable, UserError
from meltline.testing import (
    ListSource,
    MemoryLetters,
    MemorySink,
    PowerCut,
    cut_power_at,
)
from tests.unit.engine.lanes import World

EVENTS = ['{"n":1}', '{"n":"x2"}', '{"n":3}']
GOOD = ['{"n":1}', '{"n":3}']


def world() -> World:
    ends = (SinkEnd(MemorySink("one", refuses="x"), letters="letters"),
            SinkEnd(MemorySink("two", refuses="x"), letters="letters"))
    return World(ListSource(list(EVENTS)), ends, (MemoryLetters(),), config="old")


def sinks(of: World) -> list[Any]:
    return [end.sink for end in of.ends]


def half_published(events: Sequence[str] = EVENTS) -> World:
    """The table `one` and the dead letters have epoch 1, the table `two` has not."""
    here = world()
    here.source.bodies[:] = events
    sinks(here)[1].failures.append(Retryable("no"))
    with pytest.raises(Retryable):
        here.run()
    assert [sink.rows for sink in sinks(here)][1] == []
    return here


def test_half_an_epoch_of_another_configuration_is_refused() -> None:
    here = half_published()
    here.config = "new"
    with pytest.raises(ConfigurationChanged) as raised:
        here.run()
    assert isinstance(raised.value, UserError)
    assert raised.value.what.startswith(
        "the configuration of pipeline 'p' has changed in the middle of epoch 1: table one, the "
        "dead-letter target have it as another configuration made it, and two does not have it")
    assert "with the configuration as it was" in str(raised.value.hint)
    assert sinks(here)[1].rows == []


def test_the_old_configuration_finishes_what_the_new_one_must_not() -> None:
    here = half_published()
    here.config = "new"
    with pytest.raises(ConfigurationChanged):
        here.run()
    here.config = "old"
    here.run()
    assert [sink.rows for sink in sinks(here)] == [GOOD, GOOD]
    here.config = "new"
    here.source.bodies.append('{"n":4}')
    here.run()
    assert [sink.rows for sink in sinks(here)] == [[*GOOD, '{"n":4}'], [*GOOD, '{"n":4}']]


def test_a_lost_ledger_does_not_hide_the_change() -> None:
    here = half_published()
    here.ledger.lanes.clear()
    here.config = "new"
    with pytest.raises(ConfigurationChanged, match="table one"):
        here.run()


def test_dead_letters_alone_are_a_part_of_the_epoch() -> None:
    here = world()
    with pytest.raises(PowerCut):
        here.run(cut_power_at("publish.letters"))
    here.config = "new"
    with pytest.raises(ConfigurationChanged, match="the dead-letter target has it"):
        here.run()
    assert [sink.rows for sink in sinks(here)] == [[], []]


@pytest.mark.parametrize("point", ["record", "write"])
def test_an_epoch_of_which_nothing_is_published_runs_with_the_new_one(point: str) -> None:
    here = world()
    with pytest.raises(PowerCut):
        here.run(cut_power_at(point))
    here.config = "new"
    here.run()
    assert [sink.rows for sink in sinks(here)] == [GOOD, GOOD]
    assert [sink.tokens["p", "l"].config for sink in sinks(here)] == ["new", "new"]


def test_from_then_on_it_is_an_epoch_of_the_new_one() -> None:
    """A crash in the middle of it must not send people back to the old configuration."""
    here = world()
    with pytest.raises(PowerCut):
        here.run(cut_power_at("write"))
    here.config = "new"
    sinks(here)[1].failures.append(Retryable("no"))
    with pytest.raises(Retryable):
        here.run()
    here.config = "old"
    with pytest.raises(ConfigurationChanged):
        here.run()
    here.config = "new"
    here.run()
    assert [sink.rows for sink in sinks(here)] == [GOOD, GOOD]


@pytest.mark.parametrize("point", ["publish", "done"])
def test_an_epoch_that_is_published_everywhere_is_only_counted(point: str) -> None:
    here = world()
    with pytest.raises(PowerCut):
        here.run(cut_power_at(point))
    here.config = "new"
    here.run()
    assert [sink.rows for sink in sinks(here)] == [GOOD, GOOD]


def test_without_the_sink_that_lacks_it_the_lane_goes_on() -> None:
    here = half_published()
    here.config = "new"
    here.ends = here.ends[:1]
    here.run()
    state = here.ledger.load("l")
    assert state is not None
    assert (state.epoch, state.pending) == (1, None)


@pytest.mark.parametrize("point", POINTS)
def test_an_epoch_of_an_earlier_version_is_not_held_up(point: str) -> None:
    """It recorded no digest, so nobody knows: as it always was."""
    here = world()
    here.config = ""
    with pytest.raises(PowerCut):
        here.run(cut_power_at(point))
    here.config = "new"
    here.run()
    assert [sink.rows for sink in sinks(here)] == [GOOD, GOOD]


class Overtaken(MemorySink):
    """Another driver publishes first, with a configuration of its own."""

    def publish(
        self, epoch: Epoch, reports: Sequence[str], owner: str
    ) -> Sequence[Published]:
        super().publish(replace(epoch, config="other"), reports, owner)
        return super().publish(epoch, reports, owner)


def test_two_configurations_at_a_time_are_found_out() -> None:
    here = world()
    here.ends = (SinkEnd(Overtaken("one")), SinkEnd(MemorySink("two")))
    with pytest.raises(ConfigurationChanged, match=r"two as this one made it, one as the other"):
        here.run()


def test_a_table_that_another_driver_filled_is_fine_when_it_is_the_only_one() -> None:
    here = world()
    here.ends = (SinkEnd(Overtaken("one")),)
    here.run()
    assert sinks(here)[0].rows == EVENTS
