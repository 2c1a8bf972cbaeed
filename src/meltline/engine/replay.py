"""An epoch that was recorded with one configuration and runs again with another."""

from __future__ import annotations

from collections.abc import Sequence

from meltline.engine.epoch import Epoch
from meltline.engine.sink import Letters, Published, Sink
from meltline.errors import ConfigurationChanged


def made_otherwise(epoch: Epoch, config: str, place: Sink | Letters) -> bool:
    """Whether a place that holds the epoch got it with another configuration than `config`.

    Its token says; without one (dead-letter files, earlier versions) the ledger does.
    """
    token = place.token(epoch.pipeline, epoch.lane)
    known = token.config if token and token.epoch == epoch.number else ""
    return differ(known or epoch.config, config)


def has_part(epoch: Epoch, place: Sink | Letters) -> bool:
    token = place.token(epoch.pipeline, epoch.lane)
    return token is not None and token.epoch == epoch.number


def differ(one: str, other: str) -> bool:
    """An unknown digest is given the benefit of the doubt: earlier versions recorded none."""
    return bool(one and other and one != other)


def holders(
    epoch: Epoch, config: str, tables: Sequence[Sink], letters: Sequence[Letters]
) -> list[str]:
    """For people: the tables among those that have the epoch, and the dead letters, that another
    configuration made."""
    found = [f"table {table.name}" for table in tables if made_otherwise(epoch, config, table)]
    # looked for only in doubt: for files, this lists a folder
    if differ(epoch.config, config) and any(one.find(epoch) for one in letters):
        found.append("the dead-letter target")
    return found


def changed(epoch: Epoch, holding: Sequence[str], lacking: Sequence[str]) -> ConfigurationChanged:
    have = "has" if len(holding) == 1 else "have"
    lack = "does not have" if len(lacking) == 1 else "do not have"
    return ConfigurationChanged(
        f"the configuration of pipeline {epoch.pipeline!r} has changed in the middle of epoch "
        f"{epoch.number}: {', '.join(holding)} {have} it as another configuration made it, and "
        f"{', '.join(lacking)} {lack} it yet. Nothing was written: the two halves would not fit",
        hint="run once with the configuration as it was, which finishes the epoch, and then "
             "change it; or remove the sinks that do not have the epoch, run once, and add them "
             "again: they go without it")


def check_together(
    epoch: Epoch, published: Sequence[tuple[Sink | Letters, Published]]
) -> None:
    """Raises when another driver, with another configuration, was faster with a part of them."""
    theirs = [done.table for place, done in published
              if done.repeated and made_otherwise(epoch, epoch.config, place)]
    ours = [done.table for _, done in published if done.table not in theirs]
    if theirs and ours:
        raise ConfigurationChanged(
            f"two drivers with different configurations published epoch {epoch.number} of pipeline "
            f"{epoch.pipeline!r} at a time: {', '.join(ours)} as this one made it, "
            f"{', '.join(theirs)} as the other one did",
            hint="run one driver per pipeline; look at the rows of this epoch in these tables")
