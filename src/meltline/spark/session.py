"""The only door to Spark: one session per process, quiet, sized for the machine."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from meltline.errors import RunError
from meltline.redact import redact
from meltline.spark.jars import cache_home, load_jars
from meltline.spark.java import find_java

LOG_CONFIG = Path(__file__).with_name("log4j2.properties")


@dataclass(frozen=True)
class SparkSettings:
    """`connectors` names jar sets of ivy.xml beyond the core."""

    app_name: str = "meltline"
    master: str = "local[*]"
    driver_memory: str | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    connectors: tuple[str, ...] = ()


def start_session(settings: SparkSettings) -> SparkSession:
    """Start Spark, or return the running session. Raises UserError without a fit Java."""
    java = find_java()
    os.environ.setdefault("JAVA_HOME", str(java.resolve().parent.parent))
    # PySpark reads the variable alone, people write the setting
    os.environ.setdefault(
        "PYSPARK_PYTHON", settings.config.get("spark.pyspark.python", sys.executable))
    if settings.master.startswith("local") or "127.0.0.1" in settings.master:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    jars = load_jars(settings.connectors, java)
    builder = SparkSession.builder.appName(settings.app_name).master(_with_retries(settings.master))
    for key, value in {**_defaults(settings, jars), **settings.config}.items():
        builder = builder.config(key, value)
    log = cache_home() / "logs" / f"spark-{os.getpid()}.log"
    try:
        with _jvm_speaks_to(log):
            session = builder.getOrCreate()
    except Exception as error:  # noqa: BLE001
        why = why_not_started(str(error), log.read_text(errors="replace"))
        raise RunError(redact(f"Spark did not start: {why}"),
                       hint=f"the whole log is in {log}") from None
    session.sparkContext.setLogLevel("ERROR")
    return session


def why_not_started(error: str, log: str) -> str:
    """What a person wants to read of it: a reason that Spark gives, what it says of its start, or
    else what Java said at last."""
    reasons = re.findall(r"^\S+ ERROR .*Reason: (.+)$", log, re.MULTILINE)
    if reasons:
        return str(reasons[-1])
    said = [line for line in log.splitlines() if not re.match(r"\s+(at |\.\.\.)", line)]
    first = next((place for place, line in enumerate(said)
                  if " ERROR SparkContext: " in line), len(said) - 8)
    told = error.strip().splitlines()[:1] or ["no reason given"]
    return "\n".join([*told, *said[max(first, 0):][:8]])


@contextmanager
def _jvm_speaks_to(log: Path) -> Iterator[None]:
    """What Java and the workers write to standard error goes to a file: the console is ours.

    The JVM keeps the descriptor it is born with, so it is enough to swap it for the launch.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    for old in sorted(log.parent.glob("spark-*.log"), key=_written)[:-20]:
        old.unlink(missing_ok=True)
    sys.stderr.flush()
    ours = os.dup(2)
    log.touch(mode=0o600)  # an error of Java's may hold what only its owner may read
    with log.open("ab") as target:
        os.dup2(target.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)


def _written(log: Path) -> float:
    """When it was last written to: long ago, if another process has just removed it."""
    try:
        return log.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _defaults(settings: SparkSettings, jars: Iterable[Path]) -> dict[str, str]:
    quiet = f"-Dlog4j2.configurationFile={LOG_CONFIG.as_uri()}"
    values = {
        "spark.jars": ",".join(str(jar) for jar in jars),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": settings.driver_memory or driver_memory(total_memory()),
        "spark.driver.extraJavaOptions": quiet,
        "spark.executor.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.python.worker.reuse": "true",
        "spark.python.worker.faulthandler.enabled": "true",
    }
    if settings.master.startswith("local"):
        # rows never meet the JVM: quick to start is worth more than fast after minutes
        values["spark.driver.extraJavaOptions"] += " -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        values["spark.driver.host"] = "127.0.0.1"
        values["spark.driver.bindAddress"] = "127.0.0.1"
    return values


def _with_retries(master: str) -> str:
    """Local mode gives a task one try unless told otherwise; a cluster gives it four."""
    if master == "local":
        return "local[1,4]"
    return re.sub(r"^local\[([^,\]]+)\]$", r"local[\1,4]", master)


def driver_memory(total: int) -> str:
    """Row work happens in Python, so the JVM needs little: an eighth, between 1 and 4 GiB."""
    gib = 1 << 30
    return f"{min(max(total // 8, gib), 4 * gib) >> 20}m"


def total_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
