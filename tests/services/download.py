"""The cache of downloaded and built things: each appears whole, once, or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.services.account import open_to_all, public_directory, unprivileged
from tests.services.errors import ServiceError
from tests.services.process import Child

IVY_FILES = Path(__file__).with_name("ivy")
RETRIEVE = "[artifact]-[revision](-[classifier]).[ext]"
DOWNLOAD_SECONDS = 1800.0


def cache_dir() -> Path:
    """``MELTLINE_CACHE``, or a directory in the user's cache."""
    chosen = os.environ.get("MELTLINE_CACHE")
    cache = Path(chosen).resolve() if chosen else Path.home() / ".cache" / "meltline" / "services"
    cache.mkdir(parents=True, exist_ok=True)
    return cache


def programs_dir() -> Path:
    """Where programs lie that an unprivileged server runs: open to all, written only by us."""
    if unprivileged() is None or open_to_all(cache_dir()):
        programs = cache_dir() / "programs"
    else:
        programs = public_directory() / f"meltline-services-{os.geteuid()}"
    programs.mkdir(mode=0o755, exist_ok=True)
    found = programs.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise ServiceError(f"{programs} belongs to somebody else: remove it or set MELTLINE_CACHE")
    programs.chmod(0o755)
    return programs


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock file ``path``; waits for a process that holds it, or raises if told not to."""
    with path.open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ServiceError(f"{path} is held by another process") from None
        yield


def build_once(target: Path, build: Callable[[Path], None]) -> Path:
    """The directory ``target``, made by ``build(empty directory)`` unless it is there.

    Safe under concurrent processes: one builds, the others wait. A build that fails or is killed
    leaves nothing behind that counts as built.
    """
    if target.exists():
        return target
    with locked(target.with_name(f"{target.name}.lock")):
        if not target.exists():
            partial = target.with_name(f"{target.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            build(partial)
            partial.rename(target)
    return target


def run_tool(
    name: str,
    command: Sequence[object],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> None:
    """Run a build or download command to its end; its log is kept in the cache."""
    log = cache_dir() / f"{name}.log"
    log.unlink(missing_ok=True)
    Child.start(name, command, log, env=env, cwd=cwd).finish(DOWNLOAD_SECONDS)


def fetch_artifacts(name: str, java: Path) -> Path:
    """A directory with exactly the artifacts pinned in ``ivy/<name>.xml``.

    Its name holds a digest of the pins, so a change of them is a new download.
    """
    pins = IVY_FILES / f"{name}.xml"
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()[:10]

    def build(into: Path) -> None:
        # Ivy's own cache is not safe under concurrent processes: each download has a fresh one
        scratch = into.with_name(f"{into.name}.ivy")
        resolve = ["-ivy", pins, "-confs", "default", "-notransitive"]
        store = ["-cache", scratch, "-retrieve", f"{into}/{RETRIEVE}"]
        try:
            run_tool(f"ivy-{name}", [java, "-jar", _ivy_jar(), *resolve, *store])
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    return build_once(cache_dir() / f"{name}-{digest}", build)


def install_wheel(requirement: str, under: Path) -> Path:
    """A directory under ``under`` with one pinned Python package, apart from our environment."""
    name = requirement.replace("==", "-")

    def build(into: Path) -> None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", into]
        run_tool(f"pip-{name}", [*pip, requirement])
        make_readable(into)

    return build_once(under / name, build)


def make_readable(tree: Path) -> None:
    """Let every account read ``tree``, and run the programs in it, whatever our umask is."""
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            run = 0o111 if path.is_dir() or mode & 0o100 else 0
            path.chmod(stat.S_IMODE(mode) | 0o444 | run)


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    jars = [jar for root in roots for jar in Path(root).glob("jars/ivy-*.jar")]
    if not jars:
        raise ServiceError("no Ivy jar: it comes with pyspark, which is not installed here")
    return jars[0]
