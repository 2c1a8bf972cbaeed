"""Iceberg's reference REST catalog, keeping its tables' pointers in sqlite."""

import hashlib
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.services.download import build_once, cache_dir, fetch_artifacts, run_tool
from tests.services.java import QUICK_START, find_java
from tests.services.network import LOOPBACK, answers, free_ports
from tests.services.process import Child
from tests.services.s3 import S3

SOURCE = Path(__file__).with_name("java") / "RestMain.java"
S3_WAREHOUSE = "s3://warehouse/rest"
START_SECONDS = 60.0


@dataclass(frozen=True)
class RestCatalog:
    """A running catalog at ``uri``, without authentication.

    ``client_properties`` are the catalog properties a client needs beside the uri: none for a
    file warehouse, those of its S3 store otherwise (the server vends no credentials).
    """

    uri: str
    warehouse: str
    client_properties: dict[str, str] = field(repr=False, compare=False)
    log: Path
    _running: ExitStack = field(repr=False, compare=False)

    def stop(self) -> None:
        """Stop the server; the warehouse stays. May be called again."""
        self._running.close()


def prepare() -> str:
    """The class path of the server, downloaded and compiled once."""
    java = _find_java()
    jars = fetch_artifacts("rest-catalog", java)
    (compiler,) = fetch_artifacts("ecj", java).glob("ecj-*.jar")
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:10]
    class_path = ":".join(map(str, sorted(jars.glob("*.jar"))))

    def build(into: Path) -> None:
        options = ["-source", "17", "-target", "17", "-proc:none", "-cp", class_path, "-d", into]
        run_tool("compile-rest-catalog", [java, "-jar", compiler, *options, SOURCE])

    classes = build_once(cache_dir() / f"{jars.name}-classes-{digest}", build)
    return f"{classes}:{jars}/*"


def start_rest_catalog(workdir: Path, s3: S3 | None = None) -> RestCatalog:
    """An empty catalog; pointers and ``rest-catalog.log`` in ``workdir``, files there or in S3.

    With ``s3`` the warehouse is in its bucket ``warehouse``, which must exist.
    """
    class_path = prepare()
    here = workdir.resolve()
    here.mkdir(parents=True, exist_ok=True)
    warehouse = (here / "warehouse").as_uri() if s3 is None else S3_WAREHOUSE
    storage = {} if s3 is None else _s3_properties(s3)
    properties = {
        "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "uri": f"jdbc:sqlite:{here}/catalog.db?busy_timeout=30000",
        "jdbc.schema-version": "V1",
        "warehouse": warehouse,
        **storage,
    }
    (port,) = free_ports(1)
    uri = f"http://{LOOPBACK}:{port}"
    java = [_find_java(), "-Xmx256m", *QUICK_START, "-cp", class_path]
    arguments = [str(port), *(f"{key}={value}" for key, value in properties.items())]
    log = here / "rest-catalog.log"
    with ExitStack() as running:
        child = Child.start("rest catalog", [*java, "RestMain", *arguments], log, cwd=here)
        running.callback(child.stop)
        child.wait_until(lambda: answers(f"{uri}/v1/config"), START_SECONDS)
        return RestCatalog(uri, warehouse, storage, log, running.pop_all())


def _find_java() -> Path:
    # Hadoop, which writes the files of a local warehouse, stops working with Java 24
    return find_java(17, below=24)


def _s3_properties(s3: S3) -> dict[str, str]:
    return {
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": s3.endpoint,
        "s3.path-style-access": "true",
        "s3.access-key-id": s3.access_key,
        "s3.secret-access-key": s3.secret_key,
        "client.region": s3.region,
    }
