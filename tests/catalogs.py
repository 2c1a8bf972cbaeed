"""Every catalog the contract suite runs on, as Iceberg's own properties."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import psycopg
import pytest

from tests.services.postgres import Postgres
from tests.services.s3 import S3

Properties = dict[str, str]

KINDS = ("hadoop", "jdbc-sqlite", "jdbc-postgres", "rest", "jdbc-postgres-s3", "rest-s3")


@pytest.fixture(scope="session")
def make_catalog(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Properties]:
    """An empty catalog of a kind: nothing of it is shared with another call."""

    def make(kind: str) -> Properties:
        folder = tmp_path_factory.mktemp(kind)
        unique = uuid.uuid4().hex[:8]
        if kind == "hadoop":
            return {"type": "hadoop", "warehouse": f"{folder}/warehouse"}
        if kind == "jdbc-sqlite":
            return {"type": "jdbc", "warehouse": f"{folder}/warehouse",
                    "uri": f"jdbc:sqlite:{folder}/catalog.db?busy_timeout=30000"}
        if kind.startswith("jdbc-postgres"):
            return _postgres(request.getfixturevalue("postgres"), unique) | _place(
                request, kind, f"{folder}/warehouse", unique)
        name = "rest_catalog_s3" if kind == "rest-s3" else "rest_catalog"
        server = request.getfixturevalue(name)
        return {"type": "rest", "uri": server.uri, **server.client_properties}

    return make


def _postgres(server: Postgres, unique: str) -> Properties:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE catalog_{unique}")
    info = psycopg.conninfo.conninfo_to_dict(server.dsn)
    return {"type": "jdbc",
            "uri": f"jdbc:postgresql://{server.host}:{server.port}/catalog_{unique}",
            "jdbc.user": str(info.get("user", "postgres")),
            "jdbc.password": str(info.get("password", "unused-password"))}


def _place(request: pytest.FixtureRequest, kind: str, local: str, unique: str) -> Properties:
    if not kind.endswith("-s3"):
        return {"warehouse": local}
    server: S3 = request.getfixturevalue("s3")
    return {"warehouse": f"s3://warehouse/{unique}", **s3_properties(server)}


def s3_properties(server: S3) -> Properties:
    return {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO", "s3.endpoint": server.endpoint,
            "s3.path-style-access": "true", "s3.access-key-id": server.access_key,
            "s3.secret-access-key": server.secret_key, "s3.region": server.region,
            "client.region": server.region}
