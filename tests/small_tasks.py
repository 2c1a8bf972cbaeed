"""`meltline`, but every file of an Iceberg table is a task of its own: rows meet in a shuffle."""

from __future__ import annotations

import sys
from functools import partial

from meltline.assembly import sources
from meltline.cli.main import main
from meltline.sources.iceberg.settings import TableSettings
from meltline.sources.iceberg.units import Limits

if __name__ == "__main__":
    vars(sources)["TableSettings"] = partial(TableSettings, limits=Limits(split_size=1))
    sys.exit(main())
