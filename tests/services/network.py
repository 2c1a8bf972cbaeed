"""Loopback ports, and asking whether a server answers on one."""

import random
import socket
import urllib.error
import urllib.request
from contextlib import ExitStack

LOOPBACK = "127.0.0.1"
# below the range the kernel takes outgoing ports from, so that none is taken before it is used
PORTS = range(20000, 32000)

_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def free_ports(count: int) -> list[int]:
    """``count`` different ports nobody listens on, from a random part of the range."""
    with ExitStack() as held:
        found: list[int] = []
        for port in random.sample(PORTS, len(PORTS)):
            if len(found) == count:
                break
            candidate = held.enter_context(socket.socket())
            try:
                candidate.bind((LOOPBACK, port))
            except OSError:
                continue
            found.append(port)
        return found


def answers(url: str) -> bool:
    """Whether a GET of ``url`` succeeds now, without any proxy."""
    try:
        with _direct.open(url, timeout=5) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False
