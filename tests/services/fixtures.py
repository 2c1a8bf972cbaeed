"""The test services as pytest fixtures: each starts when first asked for, once per run.

Load with ``pytest_plugins = ["tests.services.fixtures"]``. A server that does not come up fails
the tests that ask for it, with the end of its log.
"""

from collections.abc import Iterator

import pytest

from tests.services.kafka import Kafka, start_kafka
from tests.services.opensearch import OpenSearch, start_opensearch
from tests.services.postgres import Postgres, start_postgres
from tests.services.rest_catalog import RestCatalog, start_rest_catalog
from tests.services.s3 import S3, start_s3


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """PostgreSQL with logical replication; make your own tables, slots and publications."""
    server = start_postgres(tmp_path_factory.mktemp("postgres"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """A Kafka broker; make your own topics."""
    server = start_kafka(tmp_path_factory.mktemp("kafka"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """An S3 server with the bucket ``warehouse``."""
    server = start_s3(tmp_path_factory.mktemp("s3"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def rest_catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestCatalog]:
    """An Iceberg REST catalog with its warehouse in local files; make your own namespace."""
    server = start_rest_catalog(tmp_path_factory.mktemp("rest_catalog"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def rest_catalog_s3(tmp_path_factory: pytest.TempPathFactory, s3: S3) -> Iterator[RestCatalog]:
    """An Iceberg REST catalog with its warehouse in the S3 server."""
    server = start_rest_catalog(tmp_path_factory.mktemp("rest_catalog_s3"), s3)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def opensearch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenSearch]:
    """A one-node OpenSearch; make your own indices."""
    server = start_opensearch(tmp_path_factory.mktemp("opensearch"))
    yield server
    server.stop()
