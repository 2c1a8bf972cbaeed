"""An HTTP proxy before a REST catalog that can lose the answer to a commit, or the commit."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.waiting import wait_for_end


@dataclass
class Proxy:
    """`lose`: how many of the next commits are carried out but answered with 502.
    `swallow`: how many are answered with 502 and not carried out."""

    upstream: str
    lose: int = 0
    swallow: int = 0
    lost: list[str] = field(default_factory=list)
    uri: str = ""


@contextmanager
def started(upstream: str) -> Iterator[Proxy]:
    proxy = Proxy(upstream)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            """Quiet."""

        def _forward(self) -> None:
            size = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(size) if size else None
            is_commit = self.command == "POST" and b'"add-snapshot"' in (body or b"")
            if is_commit and proxy.swallow:
                proxy.swallow -= 1
                proxy.lost.append(self.path)
                self._answer(502, b"")
                return
            status, answer = self._ask(body)
            if is_commit and proxy.lose:
                proxy.lose -= 1
                proxy.lost.append(self.path)
                status, answer = 502, b""
            self._answer(status, answer)

        def _ask(self, body: bytes | None) -> tuple[int, bytes]:
            request = urllib.request.Request(
                proxy.upstream + self.path, data=body, method=self.command,
                headers={"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request) as response:
                    return response.status, response.read()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read()

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_POST = do_DELETE = do_HEAD = do_PUT = _forward

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy.uri = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        wait_for_end(thread)
