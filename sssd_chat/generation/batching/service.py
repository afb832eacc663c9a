"""An engine in a thread of its own, for any number of threads that want answers."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from sssd_chat.errors import UserError
from sssd_chat.generation.batching.request import Phase, Progress, Request, Ticket
from sssd_chat.generation.batching.scheduler import Figures, Scheduler
from sssd_chat.generation.loading import LoadedEngine, State

Sink = Callable[[Progress], None]
"""Told of what a request brings, in the engine's thread: it must not block."""

_SAVE_SECONDS = 300.0
"""How often what was learned is kept, at most, while requests go on coming."""

log = logging.getLogger(__name__)


class ServiceClosed(UserError):
    """The service takes no more requests."""


class Handle:
    """A request that was submitted."""

    def __init__(self, service: EngineService, ticket: Ticket) -> None:
        self._service = service
        self._ticket = ticket

    def cancel(self) -> None:
        """Asks for the answer to end where it is, unless it has ended. Its sink is told when it
        did."""
        self._service._cancel(self._ticket)


class EngineService:
    """Owns an engine and writes answers with it for everyone. All methods may be called from any
    thread; none of them waits for the engine but `close`."""

    def __init__(self, loaded: LoadedEngine) -> None:
        """Starts the thread. `loaded` belongs to the service from now on, which closes it."""
        self._loaded = loaded
        self._scheduler: Scheduler[State] = Scheduler(loaded.engine, loaded.new_drafter)
        self._sinks: dict[Ticket, Sink] = {}
        """Of the requests in the scheduler; the engine's thread alone uses it."""
        self._wake = threading.Condition()
        self._new: deque[tuple[Ticket, Sink]] = deque()
        self._cancelled: deque[Ticket] = deque()
        self._is_closing = False
        self._ends = 0.0
        """When what still runs is cancelled, once it is closing; by time.monotonic."""
        self._figures = self._scheduler.figures()
        self._saved = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    def submit(self, request: Request, sink: Sink) -> Handle:
        """Queues a request. `sink` is called in the engine's thread with each progress of it, the
        last one included, and must not block; when it raises, the request is cancelled.

        Raises PromptTooLong, UserError for an empty prompt or a broken grammar, ServiceClosed.
        """
        ticket = self._scheduler.prepare(request)
        with self._wake:
            if self._is_closing:
                ticket.answer.cancel()
                raise ServiceClosed("The engine is being shut down.")
            self._new.append((ticket, sink))
            self._wake.notify()
        return Handle(self, ticket)

    def _cancel(self, ticket: Ticket) -> None:
        with self._wake:
            self._cancelled.append(ticket)
            self._wake.notify()

    def figures(self) -> Figures:
        """How the engine was doing after its last step."""
        waiting = len(self._new)
        return replace(self._figures, queued=self._figures.queued + waiting)

    @property
    def is_open(self) -> bool:
        """Whether requests are taken: not when it is closed or was, or when its thread failed."""
        return not self._is_closing

    @property
    def is_alive(self) -> bool:
        """Whether the engine's thread runs."""
        return self._thread.is_alive()

    def close(self, deadline: float = 0.0) -> None:
        """Takes no more requests, lets those that run come to their end for `deadline` seconds,
        cancels the rest, and frees the engine. Waits for all of it. Calling it again may make the
        deadline shorter."""
        ends = time.monotonic() + deadline
        with self._wake:
            self._ends = min(ends, self._ends) if self._is_closing else ends
            self._is_closing = True
            self._wake.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    # The engine's thread

    def _run(self) -> None:
        try:
            while self._take_orders():
                for progress in self._step():
                    self._tell(progress)
                self._figures = self._scheduler.figures()
                self._save_now_and_then()
        except Exception:
            log.exception("The engine's thread failed")
        finally:
            self._give_up()
            self._scheduler.close()
            self._loaded.close()

    def _give_up(self) -> None:
        """Tells those who would wait for ever, should the thread have failed."""
        with self._wake:
            self._is_closing = True
            waiting = [*self._sinks.items(), *self._new]
        for ticket, sink in waiting:
            try:
                sink(Progress(ticket, error="The engine has failed; the log has the details."))
            except Exception:
                log.exception("A listener failed")

    def _take_orders(self) -> bool:
        """Waits until there is something to do; False when there never will be again."""
        with self._wake:
            while self._scheduler.is_idle and not (self._new or self._cancelled):
                if self._is_closing:
                    return False
                self._wake.wait()
            new, self._new = self._new, deque()
            cancelled, self._cancelled = self._cancelled, deque()
            is_over = self._is_closing and time.monotonic() >= self._ends
        for ticket, sink in new:
            self._sinks[ticket] = sink
            self._scheduler.enqueue(ticket)
        for ticket in list(self._sinks) if is_over else cancelled:
            self._scheduler.cancel(ticket)
        return True

    def _step(self) -> list[Progress]:
        try:
            return self._scheduler.step()
        except Exception:
            log.exception("A step of the engine failed")
            sorry = "Something went wrong while writing; see the log."
            reports = self._scheduler.fail_live(sorry)
            told = {progress.ticket for progress in reports}
            # What had ended in that step was not reported.
            ended = [ticket for ticket in self._sinks if ticket.phase is Phase.FINISHED]
            return reports + [Progress(t, error=sorry) for t in ended if t not in told]

    def _tell(self, progress: Progress) -> None:
        ticket = progress.ticket
        sink = self._sinks.get(ticket)
        if sink is None:
            return
        if progress.is_last:
            del self._sinks[ticket]
        try:
            sink(progress)
        except Exception:
            log.exception("A listener failed; its request is cancelled")
            self._sinks.pop(ticket, None)
            self._scheduler.cancel(ticket)

    def _save_now_and_then(self) -> None:
        if time.monotonic() - self._saved >= _SAVE_SECONDS:
            self._loaded.save()
            self._saved = time.monotonic()
