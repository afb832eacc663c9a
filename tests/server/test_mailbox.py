"""Between the engine thread and a client: nothing is lost, nothing piles up."""

from __future__ import annotations

import asyncio
import random
import threading
import time

from sssd_chat.conversation.completions.choice import Piece, choices_for
from sssd_chat.conversation.completions.prompting import Prompt
from sssd_chat.generation.batching import Progress
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.statistics import StoppedBy
from sssd_chat.server.mailbox import Mailbox

PROMPT = Prompt((1,), GenerationSettings())
STEPS = 300


def progress(text: str, finished: StoppedBy | None = None) -> Progress:
    return Progress(None, text=text, finished=finished)  # type: ignore[arg-type]


async def test_a_slow_client_gets_everything_in_few_pieces() -> None:
    mailbox = Mailbox(choices_for([PROMPT] * 3, divides_thinking=False))

    def write() -> None:
        for step in range(STEPS):
            for index in range(3):
                mailbox.put(index, progress(f"{index}:{step} "))
        for index in range(3):
            mailbox.put(index, progress("", StoppedBy.END))

    writer = threading.Thread(target=write)
    writer.start()
    received = [Piece()] * 3
    takes = 0
    while (pieces := await mailbox.take()) is not None:
        takes += 1
        for index, piece in pieces.items():
            received[index] += piece
        if takes == 1:
            writer.join()
    for index in range(3):
        assert received[index].text == "".join(f"{index}:{step} " for step in range(STEPS))
        assert received[index].finish_reason == "stop"
    # All that came while the client was away came as one.
    assert takes <= 3


async def test_every_wait_is_woken() -> None:
    chance = random.Random(1)
    for _ in range(50):
        mailbox = Mailbox(choices_for([PROMPT], divides_thinking=False))

        def write(mailbox: Mailbox = mailbox) -> None:
            for _ in range(5):
                time.sleep(chance.random() / 2000)
                mailbox.put(0, progress("a"))
            mailbox.put(0, progress("", StoppedBy.LENGTH))

        writer = threading.Thread(target=write)
        writer.start()
        await asyncio.wait_for(mailbox.wait(), 30)
        writer.join()
        assert mailbox.choices[0].whole.text == "aaaaa"


async def test_what_comes_for_nobody_is_no_error() -> None:
    mailbox = Mailbox(choices_for([PROMPT], divides_thinking=False))
    mailbox._loop = asyncio.new_event_loop()
    mailbox._loop.close()
    mailbox.put(0, progress("a", StoppedBy.END))
    assert mailbox.choices[0].is_finished
