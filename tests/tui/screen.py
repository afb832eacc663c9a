"""What tests do with the chat screen, and what they read from it."""

from __future__ import annotations

from textual import events
from textual.pilot import Pilot
from textual.widgets import Static

from sssd_chat.tui.widgets.answer import Answer
from sssd_chat.tui.widgets.answer_text import AnswerText
from sssd_chat.tui.widgets.prompt import Prompt
from sssd_chat.tui.widgets.question import Question
from sssd_chat.tui.widgets.transcript import Transcript
from tests.tui.fake_backend import FakeBackend, wait_until


def prompt(pilot: Pilot[None]) -> Prompt:
    return pilot.app.screen.query_one(Prompt)


def transcript(pilot: Pilot[None]) -> Transcript:
    return pilot.app.screen.query_one(Transcript)


def questions(pilot: Pilot[None]) -> list[Question]:
    return list(pilot.app.screen.query(Question))


def answers(pilot: Pilot[None]) -> list[Answer]:
    return list(pilot.app.screen.query(Answer))


def note(answer: Answer) -> str:
    return str(answer.query_one(".note", Static).render())


def source(answer: Answer) -> str:
    return answer.query_one(AnswerText).source


def lines(pilot: Pilot[None]) -> list[str]:
    """The screen as text."""
    strips = pilot.app.screen._compositor.render_strips()
    return [strip.text for strip in strips]


def shows(pilot: Pilot[None], text: str) -> bool:
    return any(text in line for line in lines(pilot))


def told(pilot: Pilot[None], text: str) -> bool:
    """Whether a notice with this text is shown; on the screen it may be wrapped."""
    return any(text in notice.message for notice in pilot.app._notifications)


async def ask(pilot: Pilot[None], backend: FakeBackend, text: str = "hi") -> None:
    """Types a question and sends it."""
    asked = len(backend.asked)
    prompt(pilot).insert_paste(text)
    await pilot.press("enter")
    await wait_until(pilot, lambda: len(backend.asked) > asked)


async def ask_and_answer(
    pilot: Pilot[None], backend: FakeBackend, question: str, answer: str
) -> None:
    """A whole turn."""
    await ask(pilot, backend, question)
    backend.answer(answer)
    await wait_for_end(pilot)


async def wait_for_end(pilot: Pilot[None]) -> None:
    """Until the last answer is there in full, and drawn."""
    await wait_until(pilot, lambda: note(answers(pilot)[-1]))
    await pilot.pause()


async def paste(pilot: Pilot[None], text: str) -> None:
    prompt(pilot).post_message(events.Paste(text))
    await pilot.pause()


async def type_fast(pilot: Pilot[None], keys: list[tuple[str, str | None]]) -> None:
    """Lets key presses arrive without waiting for any of them to be handled."""
    for key, character in keys:
        pilot.app.post_message(events.Key(key, character))
