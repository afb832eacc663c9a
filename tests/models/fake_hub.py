"""A hub on this machine, with moods: it can be told how to answer next."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

Answer = Callable[["_Handler"], bool]
"""Answers a request in its own way and returns True, or leaves it to the usual way."""


@dataclass
class FakeHub:
    """What it holds, how it is to behave, and what it was asked."""

    endpoint: str
    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    moods: list[Answer] = field(default_factory=list)
    """One for each of the next requests for a file."""
    listing_moods: list[Answer] = field(default_factory=list)
    """The same for requests for what a repository holds."""
    asked: list[str] = field(default_factory=list)
    """Requests for files, as "START name"."""
    tokens: set[str] = field(default_factory=set)
    """Authorizations that were sent."""
    announced: dict[str, str] = field(default_factory=dict)
    """Checksums that it tells instead of the right ones, by file."""


def status(code: int, **headers: str) -> Answer:
    """Answers with a status and no more."""

    def answer(handler: _Handler) -> bool:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    return answer


def drop_after(count: int) -> Answer:
    """Closes the connection after so many bytes of the body."""

    def answer(handler: _Handler) -> bool:
        contents = handler.wanted()
        start = handler.start()
        handler.head(206 if start else 200, len(contents) - start, start, len(contents))
        handler.wfile.write(contents[start : start + count])
        handler.wfile.flush()
        handler.connection.shutdown(socket.SHUT_RDWR)
        handler.close_connection = True
        return True

    return answer


def body(contents: bytes, code: int = 200) -> Answer:
    """Sends something else than the file."""

    def answer(handler: _Handler) -> bool:
        handler.head(code, len(contents), 0, len(contents))
        handler.wfile.write(contents)
        return True

    return answer


def endless(contents: bytes) -> Answer:
    """Sends a body without saying how long it is."""

    def answer(handler: _Handler) -> bool:
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(contents)
        handler.close_connection = True
        return True

    return answer


def deaf_to_ranges(handler: _Handler) -> bool:
    """Sends the whole file whatever part is asked for."""
    contents = handler.wanted()
    handler.head(200, len(contents), 0, len(contents))
    handler.wfile.write(contents)
    return True


def usual(_: _Handler) -> bool:
    """As a hub should."""
    return False


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: FakeHub

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        """Answers."""
        self.hub.tokens.add(self.headers.get("Authorization", ""))
        path = unquote(self.path.partition("?")[0])
        listing = re.fullmatch(r"/api/models/([^/]+/[^/]+)", path)
        moods = self.hub.listing_moods if listing else self.hub.moods
        mood = moods.pop(0) if moods else usual
        with contextlib.suppress(OSError):
            if not listing:
                self.hub.asked.append(f"{self.start()} {path.rpartition('/')[2]}")
            if not mood(self):
                self._list(listing[1]) if listing else self._send()

    def _list(self, name: str) -> None:
        files = self.hub.repositories.get(name)
        if files is None:
            status(404, X_Error_Code="RepoNotFound")(self)
            return
        siblings = []
        for file, contents in files.items():
            digest = self.hub.announced.get(file) or hashlib.sha256(contents).hexdigest()
            lfs = {"sha256": digest, "size": len(contents), "pointerSize": 1}
            siblings.append({"rfilename": file, "size": len(contents), "lfs": lfs})
        answer = json.dumps({"id": name, "modelId": name, "sha": "c0ffee", "siblings": siblings})
        body(answer.encode())(self)

    def wanted(self) -> bytes:
        """The file that is asked for."""
        place = re.fullmatch(r"/([^/]+/[^/]+)/resolve/c0ffee/(.+)", unquote(self.path))
        assert place is not None, self.path
        return self.hub.repositories[place[1]][place[2]]

    def start(self) -> int:
        """Where in it."""
        place = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        return int(place[1]) if place else 0

    def _send(self) -> None:
        contents, start = self.wanted(), self.start()
        self.head(206 if start else 200, len(contents) - start, start, len(contents))
        self.wfile.write(contents[start:])

    def head(self, code: int, length: int, start: int, size: int) -> None:
        """Sends a status and the usual headers."""
        self.send_response(code)
        self.send_header("Content-Length", str(length))
        if code == 206:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        self.end_headers()


@contextlib.contextmanager
def running_hub() -> Iterator[FakeHub]:
    """A hub that listens on this machine."""
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub = FakeHub(f"http://127.0.0.1:{server.server_port}")
    handler.hub = hub  # type: ignore[attr-defined]
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01))
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
