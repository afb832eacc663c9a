"""Makes the pictures of the README: `python assets/make_screenshots.py`.

Options of the chat may follow. The starter model answers, so the numbers on the pictures are those
of the machine this runs on. The history, the datastore and the settings are in a folder of their
own that is removed afterwards.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import TextArea

ASSETS = Path(__file__).parent
WIDE = (150, 46)
NARROW = (80, 24)
QUESTIONS = (
    "Write a Python function that counts the words of a text.",
    "Now the same function with a docstring and type hints.",
    "Repeat the function, and show how it is called.",
)
ANSWERS = ("--temperature", "0", "--max-tokens", "150")
EARLIER = (
    ("What is a suffix array?", "The sorted list of all suffixes of a text.", 0.1),
    ("Plan a weekend in Trieste", "Begin with a walk along the Molo Audace.", 1.2),
    ("Why does my regex not match?", "The dot does not match a line break by itself.", 1.4),
    ("Übersetze die Einleitung ins Deutsche", "Gern. Hier ist die Einleitung.", 4.0),
    ("Name three rivers of Siberia", "Ob, Yenisei and Lena.", 12.0),
)
"""A question, an answer, and how many days ago."""


def fill_history() -> None:
    """Chats for the list to show."""
    from sssd_chat import paths
    from sssd_chat.conversation.history import History, NewTurn

    history = History(paths.history_file())
    for question, answer, days in EARLIER:
        when = time.time() - days * 24 * 3600
        chat = history.add_chat(question, "", created=when, updated=when)
        asked = history.insert(chat, None, NewTurn("user", question, "done", "SmolLM2-135M"))
        history.insert(chat, asked, NewTurn("assistant", answer, "done", "SmolLM2-135M"))
    history.close()


async def until(pilot: Pilot[None], holds: Callable[[], bool], seconds: float = 300.0) -> None:
    """Lets the app run until `holds`."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError
        await pilot.pause(0.05)


async def take_pictures() -> None:
    """Chats a little and goes through the screens."""
    from sssd_chat import paths
    from sssd_chat.cli import chat, options
    from sssd_chat.cli.model_choices import ModelChoices
    from sssd_chat.config import Config
    from sssd_chat.conversation.engine_thread import EngineThread
    from sssd_chat.conversation.history import ChatRecorder
    from sssd_chat.conversation.services import Services
    from sssd_chat.tui.app import ChatApp
    from sssd_chat.tui.screens.chat import ChatScreen

    config = Config()
    given = chat.parser().parse_args([*sys.argv[1:], *ANSWERS])
    choices = ModelChoices(given, config)
    backend = EngineThread(
        lambda path: options.engine_settings(given, config),
        lambda: options.chat_settings(given, config),
        ChatRecorder(paths.history_file()),
        lambda: options.learning_settings(given, config),
        check=choices.check,
        system=None,
    )
    app = ChatApp(backend, config=config, services=Services(models=choices))

    def save(name: str) -> None:
        svg = app.export_screenshot(title="sssd-chat")
        (ASSETS / f"{name}.svg").write_text(svg, encoding="utf-8")
        print(f"{name}.svg", file=sys.stderr)

    async with app.run_test(size=WIDE) as pilot:
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        screen.query_one(TextArea).cursor_blink = False
        await until(pilot, lambda: screen._state.model is not None)

        def answers() -> int:
            return sum(said.statistics is not None for said in screen._transcript.turns)

        for number, question in enumerate(QUESTIONS, 1):
            screen._prompt.insert_paste(question)
            await pilot.press("enter")
            await until(pilot, lambda wanted=number: answers() == wanted)
            await pilot.pause(0.5)
        save("chat-wide")

        async def picture(name: str, *keys: str) -> None:
            await pilot.press(*keys)
            await pilot.pause(2.0)
            save(name)

        await picture("provenance", "f7")
        await pilot.press("f7")
        for name, key in (
            ("chats", "ctrl+o"),
            ("models", "f2"),
            ("datastore", "f4"),
            ("settings", "f5"),
        ):
            await pilot.resize_terminal(110, 34)
            await picture(name, key)
            await pilot.press("escape")
        await pilot.resize_terminal(*NARROW)
        await pilot.pause(1.0)
        save("chat-80x24")
    backend.close()


def main() -> None:
    """Runs in a home of its own."""
    sys.path.insert(0, str(ASSETS.parent))
    with tempfile.TemporaryDirectory() as home:
        for name in [name for name in os.environ if name.startswith(("XDG_", "SSSD_CHAT_"))]:
            del os.environ[name]
        os.environ["HOME"] = home
        fill_history()
        asyncio.run(take_pictures())


if __name__ == "__main__":
    main()
