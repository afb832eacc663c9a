"""The server from its start to its end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import uvicorn

from sssd_chat.conversation.completions.choice import Choice
from sssd_chat.conversation.completions.prompting import PromptMaker
from sssd_chat.conversation.completions.request import Defaults
from sssd_chat.errors import UserError, reason
from sssd_chat.generation.batching import EngineService
from sssd_chat.server.access import Access, ApiKey
from sssd_chat.server.answering import Desk
from sssd_chat.server.app import Serving, create_app
from sssd_chat.server.metrics import Metrics
from sssd_chat.server.settings import ServerSettings

_CLIENT_SECONDS = 3
"""How long clients may take to read their last words when the server ends."""

_BACKLOG = 1024
"""Connections that may wait to be looked at."""

OnAnswer = Callable[[ApiKey, Choice], None]
"""Told each answer that came to an end of its own, and who asked for it."""


def listen(settings: ServerSettings) -> socket.socket:
    """Takes the address, so that nobody waits for a model that could not be served then. Raises
    UserError when it cannot be used, and when the server would be open to everybody in the
    network."""
    if not settings.is_for_this_machine and not settings.keys:
        raise UserError(
            f"Without an API key the server would be open to everybody who can reach "
            f"{settings.host}: give one with --api-keys or --api-key, or leave out --host."
        )
    try:
        family, _, _, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        raise UserError(
            f"Cannot listen on {settings.host}, port {settings.port}: {reason(error)}."
        ) from error


def serve(
    service: EngineService,
    prompts: PromptMaker,
    model: Path,
    defaults: Defaults,
    settings: ServerSettings,
    listening: socket.socket,
    on_answer: OnAnswer,
    on_ready: Callable[[str], None],
) -> bool:
    """Serves until SIGINT or SIGTERM, then lets answers come to their end for a while; a second
    signal ends them at once. `listening` is what `listen` gave, which the caller closes;
    `on_ready` is told the address. Returns whether it was SIGINT."""
    metrics = Metrics(service.figures)

    def on_finished(choice: Choice, caller: ApiKey) -> None:
        metrics.count_answer(choice.statistics)
        if choice.is_complete:
            on_answer(caller, choice)

    desk = Desk(
        service, prompts, model.stem, settings.parallel + settings.most_waiting, on_finished
    )
    access = Access(settings.keys, settings.origin, hosts_checked=not settings.keys)
    created = int(model.stat().st_mtime)
    app = create_app(Serving(settings, desk, access, defaults, metrics, created))
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=int(settings.grace_seconds) + _CLIENT_SECONDS,
    )
    server = _Server(config, desk, settings.grace_seconds)
    host, port = listening.getsockname()[:2]
    on_ready(f"http://{f'[{host}]' if ':' in host else host}:{port}/v1")
    server.run([listening])
    return server.ended_by is signal.SIGINT


class _Server(uvicorn.Server):
    """Uvicorn, ended as a program with answers under way should be."""

    def __init__(self, config: uvicorn.Config, desk: Desk, grace_seconds: float) -> None:
        super().__init__(config)
        self.ended_by: signal.Signals | None = None
        self._desk = desk
        self._grace_seconds = grace_seconds

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Uvicorn would raise the signals once more when it has ended."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal ends the server in good order, the second one at once."""
        if self.ended_by is not None:
            self.force_exit = True
        self.ended_by = self.ended_by or signal.Signals(sig)
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Lets answers come to their end, and cancels those that are not there in time."""
        self._desk.close()
        cancelling = asyncio.ensure_future(self._cancel_in_time())
        try:
            await super().shutdown(sockets)
        finally:
            cancelling.cancel()
            self._desk.cancel_all()

    async def _cancel_in_time(self) -> None:
        ends = time.monotonic() + self._grace_seconds
        while time.monotonic() < ends and not self.force_exit:
            await asyncio.sleep(0.05)
        self._desk.cancel_all()
