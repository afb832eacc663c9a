"""Streams whose clients stall or leave, without a network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message

from sssd_chat.conversation.completions.choice import choices_for
from sssd_chat.conversation.completions.prompting import Prompt
from sssd_chat.conversation.completions.replies import Reply
from sssd_chat.generation.batching import Progress
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.statistics import StoppedBy
from sssd_chat.server.answering import Answering
from sssd_chat.server.mailbox import Mailbox
from sssd_chat.server.streaming import EventStream, unless_gone


def answering() -> Answering:
    mailbox = Mailbox(choices_for([Prompt((1,), GenerationSettings())], divides_thinking=True))
    return Answering(Reply("id", 1, "m", True, False, 1, bytes), mailbox)


def progress(text: str, finished: StoppedBy | None = None) -> Progress:
    return Progress(None, text=text, finished=finished)  # type: ignore[arg-type]


async def stays() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


async def stream(
    one: Answering, receive: Callable[[], object], send: Callable[[Message], object]
) -> int:
    ended = []
    response = EventStream(one, False, 0.05, lambda: ended.append(1))
    await response({"type": "http"}, receive, send)  # type: ignore[arg-type]
    return len(ended)


async def test_a_stream_is_sent_to_its_end() -> None:
    one = answering()
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    one.mailbox.put(0, progress("a"))
    one.mailbox.put(0, progress("b", StoppedBy.END))
    assert await stream(one, stays, send) == 1
    assert sent[0]["status"] == 200
    body = b"".join(message.get("body", b"") for message in sent)
    assert b'"content": "ab"' in body and body.endswith(b"data: [DONE]\n\n")
    assert not sent[-1].get("more_body", False)


async def test_a_client_that_reads_nothing_counts_as_gone() -> None:
    one = answering()
    one.mailbox.put(0, progress("a"))

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    assert await stream(one, stays, send) == 1


async def test_a_client_that_leaves_ends_the_stream() -> None:
    async def leaves() -> Message:
        return {"type": "http.disconnect"}

    async def send(_message: Message) -> None:
        pass

    assert await stream(answering(), leaves, send) == 1
    with pytest.raises(ClientDisconnect):
        await unless_gone(leaves, asyncio.sleep(3600))


async def test_an_answer_that_failed_says_so_in_its_stream() -> None:
    one = answering()
    sent: list[bytes] = []

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))

    one.mailbox.put(0, Progress(None, error="It failed."))  # type: ignore[arg-type]
    assert await stream(one, stays, send) == 1
    assert b"It failed." in b"".join(sent) and b"generation_failed" in b"".join(sent)
