"""Where and as whom to run the servers that refuse root."""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.services.errors import ServiceError
from tests.services.process import Account

TEMPORARY = "meltline-home-"
NEW_SECONDS = 60.0


@dataclass(frozen=True)
class Home:
    """A directory an unprivileged server owns; ``account`` is None when we are unprivileged.

    ``claim`` is a locked descriptor of a temporary home, for as long as it is in use.
    """

    path: Path
    account: Account | None
    claim: int | None = None

    def own(self) -> None:
        """Give everything in it to the server's account."""
        if self.account is None:
            return
        for path in (self.path, *self.path.rglob("*")):
            os.chown(path, self.account.uid, self.account.gid, follow_symlinks=False)

    def discard(self) -> None:
        """Remove it if it lies outside the work directory it was asked for. Call once."""
        if self.claim is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self.claim)


def unprivileged() -> Account | None:
    """The account to drop to, or None when there is nothing to drop."""
    if os.geteuid() != 0:
        return None
    # one with a name: PostgreSQL looks it up
    known = sorted(pwd.getpwall(), key=lambda entry: entry.pw_name != "nobody")
    for entry in known:
        if entry.pw_uid != 0:
            return Account(entry.pw_uid, entry.pw_gid)
    raise ServiceError("every known account is root, and some servers refuse to run as root")


def open_to_all(path: Path) -> bool:
    """Whether every account can go through (or, a program, run) this path."""
    real = path.resolve()
    return all(step.stat().st_mode & 0o001 for step in (real, *real.parents))


def public_directory() -> Path:
    """A temporary directory every account can go through."""
    for candidate in (Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")):
        if candidate.is_dir() and open_to_all(candidate):
            return candidate
    raise ServiceError("no temporary directory is open to unprivileged accounts: set TMPDIR")


def make_home(workdir: Path) -> Home:
    """An empty directory for a server: in ``workdir`` if the server can get there."""
    account = unprivileged()
    workdir.mkdir(parents=True, exist_ok=True)
    if account is None or open_to_all(workdir):
        home = Home(workdir.resolve() / "home", account)
        home.path.mkdir()
    else:
        place = public_directory()
        _sweep(place)
        path = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=place))
        home = Home(path, account, _claim(path))
    home.path.chmod(0o755)
    home.own()
    return home


def _claim(path: Path) -> int:
    """Lock a directory until the descriptor is closed, be it by our death."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    return descriptor


def _sweep(place: Path) -> None:
    """Remove the homes left by processes that were killed."""
    for left in place.glob(f"{TEMPORARY}*"):
        # gone meanwhile, or in use; a new one may not be locked yet
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > NEW_SECONDS:
                Home(left, None, _claim(left)).discard()
