"""The test services really serve, and never outlive the tests."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import confluent_kafka
import psycopg
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.services.download import build_once
from tests.services.errors import ServiceError
from tests.services.kafka import Kafka
from tests.services.opensearch import OpenSearch
from tests.services.postgres import Postgres, start_postgres
from tests.services.process import Child
from tests.services.rest_catalog import RestCatalog
from tests.services.s3 import S3, start_s3

ROOT = Path(__file__).parents[2]
NAP = [sys.executable, "-c", "import time; print('napping', flush=True); time.sleep(600)"]


def request(method: str, url: str, body: object = None) -> Any:
    """The JSON answer to a JSON request, past any proxy; raises unless it is a success."""
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(
        url, data=data, method=method, headers={"Content-Type": "application/json"}
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(asked, timeout=30) as response:
        return json.load(response)


def eventually(true: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def is_running(pid: int) -> bool:
    """Whether the process lives; one that ended but was not yet waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_postgres_keeps_rows_and_decodes_changes(postgres: Postgres) -> None:
    options = "'proto_version', '1', 'publication_names', 'probe'"
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE probe (id int PRIMARY KEY, name text)")
        connection.execute("CREATE PUBLICATION probe FOR TABLE probe")
        connection.execute("SELECT pg_create_logical_replication_slot('probe', 'pgoutput')")
        connection.execute("INSERT INTO probe VALUES (1, 'žluť'), (2, NULL)")
        rows = connection.execute("SELECT id, name FROM probe ORDER BY id").fetchall()
        changes = connection.execute(
            f"SELECT data FROM pg_logical_slot_peek_binary_changes('probe', NULL, NULL, {options})"
        ).fetchall()
        connection.execute("SELECT pg_drop_replication_slot('probe')")
        level = connection.execute("SHOW wal_level").fetchone()
    assert level == ("logical",)
    assert rows == [(1, "žluť"), (2, None)]
    # begin, relation, two inserts, commit
    assert b"".join(data[:1] for (data,) in changes) == b"BRIIC"


def test_postgres_refuses_a_wrong_password(postgres: Postgres) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(postgres.dsn, password="wrong")


def test_kafka_returns_what_was_produced(kafka: Kafka) -> None:
    servers: dict[str, str | int | float | bool] = {"bootstrap.servers": kafka.bootstrap}
    admin = AdminClient(servers)
    admin.create_topics([NewTopic("probe", 1, 1)])["probe"].result(30)
    producer = confluent_kafka.Producer(servers)
    for number in range(3):
        producer.produce("probe", key=str(number), value=f"value {number}")
    assert producer.flush(30) == 0
    consumer = confluent_kafka.Consumer(
        {**servers, "group.id": "probe", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["probe"])
    messages = consumer.consume(3, timeout=30)
    consumer.close()
    assert [message.value() for message in messages] == [b"value 0", b"value 1", b"value 2"]


def test_rest_catalog_keeps_namespaces(rest_catalog: RestCatalog) -> None:
    assert "defaults" in request("GET", f"{rest_catalog.uri}/v1/config")
    request("POST", f"{rest_catalog.uri}/v1/namespaces", {"namespace": ["probe"]})
    assert ["probe"] in request("GET", f"{rest_catalog.uri}/v1/namespaces")["namespaces"]


def test_rest_catalog_writes_tables_to_files(rest_catalog: RestCatalog) -> None:
    metadata = Path(create_table(rest_catalog, "files").removeprefix("file:"))
    assert metadata.parent == Path(urlsplit(rest_catalog.warehouse).path) / "files/t/metadata"
    assert json.loads(metadata.read_text())["format-version"] == 2


def test_rest_catalog_writes_tables_to_s3(rest_catalog_s3: RestCatalog, s3: S3) -> None:
    location = create_table(rest_catalog_s3, "objects")
    bucket, key = location.removeprefix("s3://").split("/", 1)
    stored = json.load(s3.client().get_object(Bucket=bucket, Key=key)["Body"])
    assert stored["location"] == f"{rest_catalog_s3.warehouse}/objects/t"


def create_table(catalog: RestCatalog, namespace: str) -> str:
    """The location of the first metadata of a new table ``t`` in a new namespace."""
    namespaces = f"{catalog.uri}/v1/namespaces"
    request("POST", namespaces, {"namespace": [namespace]})
    column = {"id": 1, "name": "id", "type": "long", "required": True}
    schema = {"type": "struct", "schema-id": 0, "fields": [column]}
    table = request("POST", f"{namespaces}/{namespace}/tables", {"name": "t", "schema": schema})
    return str(table["metadata-location"])


def test_s3_keeps_objects_and_logs_requests(s3: S3) -> None:
    client = s3.client()
    client.put_object(Bucket="warehouse", Key="probe/a.txt", Body=b"hello")
    body = client.get_object(Bucket="warehouse", Key="probe/a.txt")["Body"].read()
    listed = client.list_objects_v2(Bucket="warehouse", Prefix="probe/")["Contents"]
    assert body == b"hello"
    assert [entry["Key"] for entry in listed] == ["probe/a.txt"]
    assert eventually(lambda: "s3_PutObject probe/a.txt" in s3.access_log.read_text())


def test_s3_refuses_a_wrong_secret(s3: S3) -> None:
    stranger = dataclasses.replace(s3, secret_key="wrong").client()
    with pytest.raises(Exception, match="SignatureDoesNotMatch"):
        stranger.list_objects_v2(Bucket="warehouse")


def test_opensearch_returns_an_indexed_document(opensearch: OpenSearch) -> None:
    document = {"name": "first", "amount": 1}
    created = request("PUT", f"{opensearch.url}/probe/_doc/1?refresh=true", document)
    found = request("GET", f"{opensearch.url}/probe/_doc/1")
    counted = request("GET", f"{opensearch.url}/probe/_count")
    assert created["result"] == "created"
    assert found["_source"] == document
    assert counted["count"] == 1


def test_stopping_twice_is_the_same_as_once(tmp_path: Path) -> None:
    server = start_s3(tmp_path)
    server.stop()
    server.stop()
    with pytest.raises(OSError, match="refused"):
        request("GET", f"{server.endpoint}/health")


def test_a_server_that_exits_shows_the_end_of_its_log(tmp_path: Path) -> None:
    child = Child.start("broken", [sys.executable, "-c", "exit('no disk')"], tmp_path / "log")
    with pytest.raises(ServiceError, match=r"broken exited with 1(.|\n)*no disk"):
        child.wait_until(lambda: False, 30)


def test_a_server_that_is_late_is_stopped(tmp_path: Path) -> None:
    child = Child.start("slow", NAP, tmp_path / "log")
    with pytest.raises(ServiceError, match=r"slow was not ready after 1 s(.|\n)*napping"):
        child.wait_until(lambda: False, 1)
    assert not is_running(child.pid)


def test_children_die_with_a_killed_parent(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from tests.services.process import Child\n"
        "from tests.services.postgres import start_postgres\n"
        f"child = Child.start('nap', {NAP!r}, Path({str(tmp_path / 'log')!r}))\n"
        f"server = start_postgres(Path({str(tmp_path / 'postgres')!r}))\n"
        "print(child.pid, server.port, flush=True); os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    pid, port = map(int, ended.stdout.split())
    assert eventually(lambda: not is_running(pid))
    dsn = f"postgresql://postgres@127.0.0.1:{port}/postgres"
    assert eventually(lambda: "refused" in connection_error(dsn))


def connection_error(dsn: str) -> str:
    try:
        psycopg.connect(dsn, connect_timeout=5).close()
    except psycopg.OperationalError as error:
        return str(error)
    return ""


def test_two_postgres_servers_run_side_by_side(postgres: Postgres, tmp_path: Path) -> None:
    other = start_postgres(tmp_path)
    with psycopg.connect(other.dsn) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    other.stop()
    assert other.port != postgres.port


def test_a_failed_build_leaves_nothing_and_is_tried_again(tmp_path: Path) -> None:
    def fail(into: Path) -> None:
        (into / "half").write_text("x")
        raise ServiceError("the network is gone")

    with pytest.raises(ServiceError):
        build_once(tmp_path / "tool", fail)
    built = build_once(tmp_path / "tool", lambda into: (into / "whole").touch())
    assert [path.name for path in built.iterdir()] == ["whole"]


def test_the_command_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    endpoints = tmp_path / ".services" / "endpoints.json"
    command = [sys.executable, "-m", "tests.services", "--only", "s3,postgres"]
    with (tmp_path / "out").open("w") as out:
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=out, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
        assert eventually(lambda: endpoints.exists() or process.poll() is not None, 120)
        found = json.loads(endpoints.read_text())
        process.terminate()
        assert process.wait(60) == 0
    assert found.keys() == {"s3", "postgres"}
    assert found["s3"].keys() == {"endpoint", "access_key", "secret_key"}
    assert not endpoints.exists()
    assert "refused" in connection_error(found["postgres"])
