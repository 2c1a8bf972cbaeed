"""Fakes that keep the promises of the protocols, in memory: for tests of connectors and engine."""

from meltline.testing.clock import FakeClock, FakeStop
from meltline.testing.ledger import MemoryLedger
from meltline.testing.letters import MemoryLetters
from meltline.testing.listener import Recorder
from meltline.testing.power import PowerCut, cut_power_at
from meltline.testing.sink import MemorySink
from meltline.testing.source import ListSource
from meltline.testing.tasks import meet_here, run_here

__all__ = [
    "FakeClock",
    "FakeStop",
    "ListSource",
    "MemoryLedger",
    "MemoryLetters",
    "MemorySink",
    "PowerCut",
    "Recorder",
    "cut_power_at",
    "meet_here",
    "run_here",
]
