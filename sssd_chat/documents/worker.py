"""The process in which files are read: `python -P -m sssd_chat.documents.worker LIMITS`.

A path comes in on stdin; out go the hash of the file, and
after each "more" some of its documents, until it says that it is done or failed. So it is never
further ahead than one answer, whatever the size of the file.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sssd_chat.documents.channel import Message, receive, send
from sssd_chat.documents.document import (
    PART_CHARACTERS,
    Document,
    DocumentError,
    Limits,
    Source,
    amount,
)
from sssd_chat.documents.opening import about, hash_of, open_regular
from sssd_chat.documents.reading import read_source

MORE = "more"
"""In the order to go on with the file; any other ends it."""
ENDS = frozenset({"done", "failed"})
"""In the last answer about a file."""
LEAVING = "leaving"
"""In the last answer of a process."""

_FORBIDDEN = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn")
_FORBIDDEN_NAMES = frozenset({"os.system", "os.startfile", "pty.spawn", "webbrowser.open"})
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_GRACE = 5.0
_WATCH_SECONDS = 0.5


def main() -> None:
    """Reads the files that are named on stdin, until stdin ends."""
    limits = Limits(**json.loads(sys.argv[1]))
    orders, answers = _take_channels()
    _confine(limits)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    worker = _Worker(limits, orders, answers)
    worker.send(Message({"ready": True}))
    while order := receive(orders):
        worker.read(Path(order.values["path"]))


def _take_channels() -> tuple[BinaryIO, BinaryIO]:
    """The pipes to the pool, out of reach of libraries that print something."""
    orders, answers = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    return os.fdopen(orders, "rb"), os.fdopen(answers, "wb")


def _confine(limits: Limits) -> None:
    """Takes from this process what reading does not need, so that a reader that is tricked by a
    file cannot use it. The pool decides when to end it; an interrupt is for the pool alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(ImportError):
        import resource

        for kind, most in (
            (resource.RLIMIT_AS, limits.memory_bytes),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, 0),
        ):
            # Some systems know a limit and still refuse to set it.
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(kind, (most, most))
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING
    if writes or event in _FORBIDDEN_NAMES or event.startswith(_FORBIDDEN):
        raise PermissionError(f"Reading a document does not need {event}.")


def _end_with(parent: int) -> None:
    """Ends this process when its parent is gone, even if a file holds it up."""
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)


class _Worker:
    def __init__(self, limits: Limits, orders: BinaryIO, answers: BinaryIO) -> None:
        self._limits = limits
        self._orders = orders
        self._answers = answers
        self._used = 0.0
        self._since = time.monotonic()

    def send(self, message: Message) -> None:
        """Writes a message and the time that was used for the file until now."""
        self._used += time.monotonic() - self._since
        _alarm(0)
        send(self._answers, {**message.values, "seconds": self._used}, message.documents)

    def read(self, path: Path) -> None:
        """Answers for one file, each time only when asked for more."""
        self._used = 0.0
        self._work()
        try:
            for message in self._messages(path):
                self.send(message)
                if ENDS.intersection(message.values):
                    return
                order = receive(self._orders)
                if order is None or MORE not in order.values:
                    return
                self._work()
        except MemoryError:
            memory = amount(self._limits.memory_bytes)
            # Something may be half done in here; the pool starts another process.
            reason = f"needs more than {memory} of memory to be read"
            self.send(Message({"failed": reason, LEAVING: True}))
            sys.exit()

    def _work(self) -> None:
        self._since = time.monotonic()
        # The pool ends this process in time; the alarm is for when the pool is no more, and a
        # library lets no other thread of this process notice.
        _alarm(max(self._limits.seconds - self._used, 0) + _GRACE)

    def _messages(self, path: Path) -> Iterator[Message]:
        try:
            with open_regular(path) as file:
                before = os.fstat(file.fileno())
                sha256 = hash_of(file)
                yield Message({"sha256": sha256})
                source = Source(path.name, file, self._limits)
                count = 0
                ready: list[Document] = []
                size = 0
                for document in read_source(source):
                    ready.append(document)
                    count += 1
                    size += len(document.text)
                    if size >= PART_CHARACTERS:
                        yield Message({}, ready)
                        ready, size = [], 0
                after = os.fstat(file.fileno())
            if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                raise DocumentError("changed while it was read; import it again")
            done = {"bytes": before.st_size, "count": count, "notes": source.notes}
            yield Message({"done": done}, ready)
        except DocumentError as error:
            yield Message({"failed": error.reason})
        except OSError as error:
            yield Message({"failed": about(error)})


def _alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


if __name__ == "__main__":
    # A pool that went away leaves nothing to do and nobody to tell.
    with contextlib.suppress(BrokenPipeError):
        main()
