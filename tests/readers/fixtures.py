"""The readers as pytest fixtures."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.catalogs import Properties
from tests.readers.readers import Read, all_readers, read_pyiceberg


@pytest.fixture(scope="session")
def readers() -> Iterator[dict[str, Read]]:
    """Each reader by name. One that cannot be installed or started fails the test, loudly."""
    others = all_readers()
    yield {**{name: other.read for name, other in others.items()}, "pyiceberg": read_pyiceberg}
    for other in others.values():
        other.stop()


@pytest.fixture
def url_catalog(make_catalog: Callable[[str], Properties]) -> Properties:
    """An empty local catalog whose files have URLs: iceberg-rust takes no bare path."""
    catalog = make_catalog("jdbc-sqlite")
    return {**catalog, "warehouse": f"file://{catalog['warehouse']}"}
