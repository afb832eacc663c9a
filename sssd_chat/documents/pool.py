"""Reads many files in processes of their own, so that none can hurt or hold up the rest."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from sssd_chat.documents.channel import Message, receive, send
from sssd_chat.documents.document import Document, DocumentError, Limits
from sssd_chat.documents.worker import ENDS, LEAVING, MORE
from sssd_chat.errors import UserError
from sssd_chat.text import one_line

_TICK = 0.1
_START_SECONDS = 60.0
_END_SECONDS = 5.0
_MOST_WORKERS = 8
_MODULE = "sssd_chat.documents.worker"
_UNWANTED = "unwanted"
"""In the answer that stands for a file which nobody wanted."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A document of a file that is being read."""

    path: Path
    document: Document


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file was read to its end; its documents came before."""

    path: Path
    sha256: str
    size: int
    """Bytes of the file."""
    documents: int
    """How many came."""
    notes: tuple[str, ...]
    """What there is to say about the file as a whole, as short clauses."""


@dataclass(frozen=True, slots=True)
class FileUnwanted:
    """A file that was hashed and then not read, because the caller did not want it."""

    path: Path
    sha256: str


@dataclass(frozen=True, slots=True)
class FileFailed:
    """A file gave no text. Documents that came of it before are not whole and should be dropped."""

    path: Path
    reason: str
    """Continues a sentence that starts with the name of the file, without its full stop."""
    sha256: str | None
    """None if not even its bytes could be read."""

    @property
    def sentence(self) -> str:
        """What to tell about it."""
        return f"{one_line(str(self.path))} {self.reason}."


Event = Piece | FileRead | FileUnwanted | FileFailed
"""What comes of reading files."""


class WorkerError(UserError):
    """No process for reading files could be started."""


def read_files(
    paths: Iterable[Path],
    limits: Limits | None = None,
    *,
    workers: int | None = None,
    wanted: Callable[[Path, str], bool] | None = None,
    cancelled: threading.Event | None = None,
) -> Iterator[Event]:
    """Read files in `workers` processes (one per processor if None, eight at most).

    Files come in the order in which they are ready, and the events of one file together: some
    `Piece`, then one `FileRead`, `FileUnwanted` or `FileFailed`. Whatever a file does to its
    process, it fails with a reason and the others go on. `paths` is only asked for the next when
    a process is free, and nothing is read much further than the caller has taken it.

    `wanted` gets the path and the SHA-256 of each file before it is read; with False it is left
    out. It is called in the thread that iterates. Setting `cancelled`, closing the iterator or an
    exception such as KeyboardInterrupt ends the processes at once; the first ends the iteration
    without an error. Raises WorkerError if processes cannot be started.
    """
    count = workers or min(os.cpu_count() or 1, _MOST_WORKERS)
    pool = _Pool(paths, limits or Limits(), count, wanted, cancelled)
    try:
        yield from pool.events()
    finally:
        pool.close()


def read_file(path: Path, limits: Limits | None = None) -> tuple[Document, ...]:
    """The documents of one file, read in a process of its own. Raises DocumentError, whose message
    is a sentence with the name of the file, and WorkerError."""
    documents = []
    for event in read_files([path], limits, workers=1):
        if isinstance(event, Piece):
            documents.append(event.document)
        elif isinstance(event, FileFailed):
            raise DocumentError(event.reason, one_line(str(path)))
    return tuple(documents)


@dataclass(eq=False, slots=True)
class _Worker:
    """A process, the file it is at, and what it answered but nobody took yet."""

    process: subprocess.Popen[bytes]
    listener: threading.Thread | None = None
    ready: bool = False
    path: Path | None = None
    sha256: str | None = None
    used: float = 0.0
    """Seconds that it says it spent on the file."""
    asked_at: float = field(default_factory=time.monotonic)
    answers: deque[Message] = field(default_factory=deque)

    def ask(self, order: dict[str, Any]) -> None:
        self.asked_at = time.monotonic()
        pipe = cast(BinaryIO, self.process.stdin)
        # If it is dead, its listener tells.
        with contextlib.suppress(OSError):
            send(pipe, order)

    def end(self) -> None:
        """Kills the process and waits until it is gone."""
        self.process.kill()
        self.process.wait()
        if self.listener:
            self.listener.join()
        pipe = cast(BinaryIO, self.process.stdin)
        # What was not written to a process that is dead does not matter.
        with contextlib.suppress(OSError):
            pipe.close()


class _Pool:
    def __init__(
        self,
        paths: Iterable[Path],
        limits: Limits,
        count: int,
        wanted: Callable[[Path, str], bool] | None,
        cancelled: threading.Event | None,
    ) -> None:
        self._paths = iter(paths)
        self._limits = limits
        self._count = count
        self._wanted = wanted
        self._cancelled = cancelled
        self._workers: list[_Worker] = []
        self._arrived: queue.SimpleQueue[tuple[_Worker, Message | None]] = queue.SimpleQueue()
        self._current: _Worker | None = None
        """The worker whose file has given documents and is not finished."""

    def events(self) -> Iterator[Event]:
        while True:
            self._employ()
            worker = self._next_answering()
            if worker is None:
                return
            yield from self._events_of(worker, worker.answers.popleft())

    def close(self) -> None:
        for worker in self._workers:
            worker.process.kill()
        while self._workers:
            self._workers.pop().end()

    def _employ(self) -> None:
        """Gives every idle worker a file, and starts workers while there are files for them."""
        idle = [worker for worker in self._workers if worker.path is None]
        while idle or len(self._workers) < self._count:
            path = next(self._paths, None)
            if path is None:
                return
            worker = idle.pop() if idle else self._start()
            worker.path, worker.sha256, worker.used = path, None, 0.0
            worker.ask({"path": str(path)})

    def _start(self) -> _Worker:
        environment = dict(os.environ)
        # The modules are found where this process found them, never in the working folder, where
        # an imported collection might have put its own.
        environment["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
        limits = json.dumps(dataclasses.asdict(self._limits))
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-B", "-m", _MODULE, limits],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                # Out of the terminal's group: an interrupt is for this process to handle.
                start_new_session=True,
            )
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise WorkerError(f"No process could be started to read files: {reason}.") from error
        worker = _Worker(process)
        worker.listener = threading.Thread(target=self._listen, args=(worker,), daemon=True)
        self._workers.append(worker)
        worker.listener.start()
        return worker

    def _listen(self, worker: _Worker) -> None:
        # What is no message comes from a process that a file got hold of; it is not listened to.
        with (
            cast(BinaryIO, worker.process.stdout) as pipe,
            contextlib.suppress(ValueError, TypeError, LookupError, AttributeError),
        ):
            while message := receive(pipe):
                self._arrived.put((worker, message))
        self._arrived.put((worker, None))

    def _next_answering(self) -> _Worker | None:
        """A worker with an answer, waited for; None when all is read or cancelled."""
        while not (self._cancelled and self._cancelled.is_set()):
            candidates = [self._current] if self._current else self._workers
            for worker in candidates:
                if worker.answers:
                    return worker
            if all(worker.path is None for worker in self._workers):
                return None
            self._receive()
        return None

    def _receive(self) -> None:
        """Takes what has arrived. Only a worker that has not answered by then can be late."""
        try:
            self._take(*self._arrived.get(timeout=_TICK))
            while True:
                self._take(*self._arrived.get_nowait())
        except queue.Empty:
            self._replace_late()

    def _take(self, worker: _Worker, answer: Message | None) -> None:
        if worker not in self._workers:
            return  # the last words of one that was ended
        if answer is None:
            self._bury(worker)
            return
        worker.used = answer.values["seconds"]
        if "ready" in answer.values:
            worker.ready = True
            worker.asked_at = time.monotonic()
        elif "sha256" in answer.values:
            # Answered at once even if another worker's file is being taken.
            worker.sha256 = cast(str, answer.values["sha256"])
            path = cast(Path, worker.path)
            if self._wanted is None or self._wanted(path, worker.sha256):
                worker.ask({MORE: True})
            else:
                worker.ask({})
                worker.answers.append(Message({_UNWANTED: True}))
        else:
            worker.answers.append(answer)

    def _replace_late(self) -> None:
        now = time.monotonic()
        for worker in list(self._workers):
            if worker.path is None or worker.answers:
                continue
            waited = now - worker.asked_at
            if not worker.ready and waited > _START_SECONDS:
                raise WorkerError("The process that reads files does not start; try again.")
            if worker.ready and worker.used + waited > self._limits.seconds:
                self._fail(worker, f"took longer than {self._limits.seconds:g} s to read")

    def _bury(self, worker: _Worker) -> None:
        """A worker's process has ended by itself, or says nothing any more."""
        try:
            code = worker.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            worker.end()
            code = worker.process.returncode
        if not worker.ready:
            raise WorkerError(f"The process that reads files ended at its start with code {code}.")
        if worker.path is None:
            worker.end()
            self._workers.remove(worker)
        elif not any(_ends(answer) for answer in worker.answers):
            how = f"signal {-code}" if code < 0 else f"code {code}"
            self._fail(worker, f"crashed the process that read it ({how})")

    def _fail(self, worker: _Worker, reason: str) -> None:
        """Ends a worker's process; what it had answered goes the same way as its file."""
        worker.end()
        worker.answers.clear()
        worker.answers.append(Message({"failed": reason}))

    def _events_of(self, worker: _Worker, answer: Message) -> Iterator[Event]:
        path = cast(Path, worker.path)
        sha256 = worker.sha256
        done, failed = answer.values.get("done"), answer.values.get("failed")
        # The worker goes on at once, so that it works while the caller does.
        if _ends(answer):
            self._current = None
            self._release(worker, leaving=LEAVING in answer.values)
            self._employ()
        else:
            self._current = worker
            worker.ask({MORE: True})
        for document in answer.documents:
            yield Piece(path, document)
        if failed is not None:
            yield FileFailed(path, failed, sha256)
        elif _UNWANTED in answer.values:
            yield FileUnwanted(path, cast(str, sha256))
        elif done is not None:
            notes = tuple(done["notes"])
            yield FileRead(path, cast(str, sha256), done["bytes"], done["count"], notes)

    def _release(self, worker: _Worker, *, leaving: bool) -> None:
        """Its file is finished. One whose process has ended makes room for another."""
        worker.path = None
        if leaving or worker.process.poll() is not None:
            worker.end()
            self._workers.remove(worker)


def _ends(answer: Message) -> bool:
    """Whether it is the last about its file."""
    return _UNWANTED in answer.values or not ENDS.isdisjoint(answer.values)
