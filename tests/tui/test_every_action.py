"""Every action of the list of all actions, by its key, while the prompt or the field of its screen
has the focus. An action of a new screen fails here until the screen is in `OPEN`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from sssd_chat.conversation.services import Services
from sssd_chat.tui.actions import ALL_ACTIONS, Action, Group
from sssd_chat.tui.app import ChatApp
from sssd_chat.tui.keymap import Keymap
from sssd_chat.tui.slash import COMMANDS
from tests.tui.fake_backend import FakeBackend, wait_until
from tests.tui.screen import ask, ask_and_answer, prompt
from tests.tui.test_first_run import Catalogue

Open = Callable[[Pilot[None], FakeBackend], Awaitable[None]]
IN_THE_PROMPT = {"send", "new_line"}
"""Read by the prompt itself; tests/tui/test_prompt.py has them."""


async def _nothing(pilot: Pilot[None], backend: FakeBackend) -> None:
    prompt(pilot).insert_paste("some text")


async def _message(pilot: Pilot[None], backend: FakeBackend) -> None:
    await ask_and_answer(pilot, backend, "why?", "Because.")
    await pilot.press("alt+up")
    await wait_until(pilot, lambda: prompt(pilot).selecting)


def _by_key(*keys: str) -> Open:
    async def open_screen(pilot: Pilot[None], backend: FakeBackend) -> None:
        screen = pilot.app.screen
        await pilot.press(*keys)
        await wait_until(pilot, lambda: pilot.app.screen is not screen)
        await pilot.pause(0.1)

    return open_screen


async def _question(pilot: Pilot[None], backend: FakeBackend) -> None:
    await ask(pilot, backend, "why?")
    await _by_key("ctrl+q")(pilot, backend)


OPEN: dict[Group, Open] = {
    Group.PROMPT: _nothing,
    Group.CHAT: _nothing,
    Group.EVERYWHERE: _nothing,
    Group.MESSAGE: _message,
    Group.SETTINGS: _by_key("f5"),
    Group.CHATS: _by_key("ctrl+o"),
    Group.LISTS: _by_key("ctrl+o"),
    Group.MODELS: _by_key("f2"),
    Group.DATASTORE: _by_key("f4"),
    Group.WINDOW: _by_key("f3"),
    Group.READING: _by_key("f1"),
    Group.QUESTION: _question,
}


def _actions(group: Group) -> list[Action]:
    return [a for a in ALL_ACTIONS if a.group is group and a.name not in IN_THE_PROMPT]


@pytest.mark.parametrize("group", [group for group in Group if _actions(group)])
async def test_keys_reach_their_actions(
    group: Group, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    backend = FakeBackend()
    first_run = group is Group.FIRST_RUN
    app = ChatApp(None if first_run else backend, services=Services(models=Catalogue()))
    async with app.run_test(size=(100, 40)) as pilot:
        if not first_run:
            await wait_until(pilot, lambda: backend.started and backend.idle)
            await OPEN[group](pilot, backend)
        done: list[str] = []
        for action in _actions(group):
            if not action.keys:
                continue
            node = app if group is Group.EVERYWHERE else app.screen
            assert hasattr(node, f"action_{action.name}"), action.name
            with monkeypatch.context() as patch:
                # What the action does is tested elsewhere, and when it may be done as well.
                patch.setattr(
                    node, f"action_{action.name}", lambda name=action.name: done.append(name)
                )
                patch.setattr(
                    app.screen, "check_action", lambda name, _, own=action.name: name == own
                )
                for key in Keymap().keys(action):
                    done.clear()
                    await pilot.press(key)
                    await wait_until(pilot, lambda a=action: done == [a.name], 2)  # type: ignore[misc]


async def test_every_command_does_something(home: Path) -> None:
    backend = FakeBackend()
    app = ChatApp(backend)
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: backend.started and backend.idle)
        for command, action in COMMANDS.items():
            node: ChatApp | Screen[object] = app if action.group is Group.EVERYWHERE else app.screen
            names = (f"command_{action.name}", f"action_{action.name}")
            assert any(hasattr(node, name) for name in names), command
            if action.argument and action.group is not Group.EVERYWHERE:
                assert hasattr(node, names[0]), f"{command} takes no {action.argument}"


async def test_every_action_of_the_palette_has_a_handler(home: Path) -> None:
    backend = FakeBackend()
    app = ChatApp(backend)
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: backend.started and backend.idle)
        for action in ALL_ACTIONS:
            if action.in_palette and action.group in (Group.CHAT, Group.MESSAGE, Group.EVERYWHERE):
                node = app if action.group is Group.EVERYWHERE else app.screen
                assert hasattr(node, f"action_{action.name}"), action.name
