"""Replies as server-sent events, and clients that go away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sssd_chat.conversation.completions.refusal import RequestRefused
from sssd_chat.conversation.completions.replies import Json
from sssd_chat.server.answering import Answering

_Result = TypeVar("_Result")

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
]


def encoded(value: Json) -> bytes:
    """A JSON value as it goes over the wire. A lone surrogate, which is no character, becomes a
    question mark."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, _Result]) -> _Result:
    """The result of `work`, which is given up when the client goes away; then ClientDisconnect is
    raised. The body of the request must have been read."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnect(receive))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return task.result()
    finally:
        for one in (task, gone):
            one.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class EventStream(Response):
    """Sends a reply chunk by chunk."""

    def __init__(
        self,
        answering: Answering,
        include_usage: bool,
        stalled_seconds: float,
        on_end: Callable[[], None],
    ) -> None:
        """A client that reads nothing for `stalled_seconds` counts as gone. `on_end` is called
        once, however it ends."""
        super().__init__()
        self._answering = answering
        self._include_usage = include_usage
        self._stalled_seconds = stalled_seconds
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        try:
            await unless_gone(receive, self._send_all(send))
        except (ClientDisconnect, TimeoutError, OSError):
            # The client is gone, and nobody is left to tell.
            pass
        finally:
            self._on_end()

    async def _send_all(self, send: Send) -> None:
        headers = [*_HEADERS, *((n, v) for n, v in self.raw_headers if n != b"content-length")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for event in self._events():
            await self._send(send, event)
        try:
            self._answering.check()
        except RequestRefused as refused:
            await self._send(send, encoded(refused.as_json()))
        await self._send(send, b"[DONE]")
        await send({"type": "http.response.body"})

    async def _send(self, send: Send, event: bytes) -> None:
        body = b"data: %b\n\n" % event
        async with asyncio.timeout(self._stalled_seconds):
            await send({"type": "http.response.body", "body": body, "more_body": True})

    async def _events(self) -> AsyncIterator[bytes]:
        reply, choices = self._answering.reply, self._answering.choices
        for choice in choices:
            if (opening := reply.opening(choice)) is not None:
                yield encoded(opening)
        offsets = [0] * len(choices)
        while (pieces := await self._answering.mailbox.take()) is not None:
            for index, piece in pieces.items():
                if not piece.is_empty:
                    yield encoded(reply.chunk(choices[index], piece, offsets[index]))
                offsets[index] += len(piece.text)
        if self._include_usage and all(choice.is_complete for choice in choices):
            yield encoded(reply.usage_chunk(choices))
