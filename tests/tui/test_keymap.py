"""The keys of the registry, and what users may make of them."""

from __future__ import annotations

from collections import Counter

import pytest

from sssd_chat.config import Config
from sssd_chat.tui.actions import ALL_ACTIONS, Group, action_called
from sssd_chat.tui.app import ChatApp
from sssd_chat.tui.keymap import Keymap, keymap_of, shown_key
from sssd_chat.tui.screens.help import HelpScreen
from tests.tui.fake_backend import FakeBackend, wait_until
from tests.tui.screen import ask, prompt, shows, told


def test_names_and_commands_are_unique() -> None:
    for values in (
        [action.name for action in ALL_ACTIONS],
        [action.command for action in ALL_ACTIONS if action.slash],
    ):
        assert [value for value, times in Counter(values).items() if times > 1] == []


def test_no_two_actions_share_a_key_where_both_can_be_used() -> None:
    everywhere = [action for action in ALL_ACTIONS if action.group is Group.EVERYWHERE]
    for group in Group:
        together = {group}
        if group in (Group.CHAT, Group.PROMPT):
            together = {Group.CHAT, Group.PROMPT}
        elif group in (Group.CHATS, Group.MODELS, Group.DATASTORE):
            together = {Group.LISTS, group}
        here = [action for action in ALL_ACTIONS if action.group in together]
        keys = Counter(key for action in {*here, *everywhere} for key in Keymap().keys(action))
        assert [key for key, times in keys.items() if times > 1] == [], group


def test_every_action_can_be_reached() -> None:
    for action in ALL_ACTIONS:
        assert action.keys or action.slash or action.in_palette, action


@pytest.mark.parametrize(
    ("changes", "notice"),
    [
        ({"stopp": "f10"}, "keys.stopp: there is no action stopp; did you mean stop?"),
        ({"stop": "f99"}, "keys.stop is 'f99': there is no key f99; its own key counts."),
        ({"stop": "hyper+a"}, "keys.stop is 'hyper+a': there is no key hyper+a"),
        ({"stop": "x"}, "keys.stop is 'x': x has to stay free for typing"),
        ({"stop": "ctrl+n"}, "keys.stop: ctrl+n is the key of new_chat already"),
        ({"stop": "ctrl+q"}, "keys.stop: ctrl+q is the key of quit already"),
        ({"stop": "enter"}, "keys.stop: enter is the key of send already"),
        ({"stop": "f10", "new_chat": "f10"}, "f10 is the key of "),
    ],
)
def test_a_wrong_change_is_one_notice_and_counts_not(changes: dict[str, str], notice: str) -> None:
    keymap, notices = keymap_of(changes)
    assert len(notices) == 1 and notice in notices[0]
    assert len(keymap.changed) == len(changes) - 1


def test_keys_can_change_places() -> None:
    keymap, notices = keymap_of({"stop": "ctrl+n", "new_chat": "escape", "toggle_drafts": ""})
    assert notices == []
    assert keymap.keys(action_called("stop")) == ("ctrl+n",)
    assert keymap.keys(action_called("toggle_drafts")) == ()


def test_a_letter_is_free_where_nothing_is_typed() -> None:
    assert keymap_of({"copy_message": "y"})[1] == []
    assert len(keymap_of({"copy_message": "e"})[1]) == 1


@pytest.mark.parametrize(
    ("key", "shown"), [("escape", "esc"), ("ctrl+j", "ctrl+j"), ("question_mark", "?")]
)
def test_keys_are_shown_as_a_reader_expects(key: str, shown: str) -> None:
    assert shown_key(key) == shown


async def test_the_users_keys_count_everywhere() -> None:
    keys = {"stop": "ctrl+a", "send": "f12", "help": "f11", "new_line": "enter", "quit": "f10"}
    backend = FakeBackend()
    app = ChatApp(backend, config=Config(keys=keys))
    async with app.run_test(notifications=True) as pilot:
        await wait_until(pilot, lambda: backend.started and backend.idle)
        await pilot.press("a", "enter", "b", "f12")
        await wait_until(pilot, lambda: backend.asked == ["a\nb"])
        await pilot.press("escape")
        assert backend.cancelled == 0
        # In the text field this key would go to the start of the line.
        await pilot.press("ctrl+a")
        await wait_until(pilot, lambda: backend.cancelled == 1)
        await pilot.press("f1")
        assert not isinstance(app.screen, HelpScreen)
        await pilot.press("f11")
        await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen))
        assert shows(pilot, "f12")
        await pilot.press("f11")
        await wait_until(pilot, lambda: not isinstance(app.screen, HelpScreen))
        await pilot.press("f10", "f10")
    assert app.return_code == 0


async def test_a_clash_is_told() -> None:
    app = ChatApp(FakeBackend(), config=Config(keys={"stop": "ctrl+n"}))
    async with app.run_test(notifications=True) as pilot:
        await wait_until(pilot, lambda: told(pilot, "is the key of new_chat"))
        await ask(pilot, app._backend)  # type: ignore[arg-type]
        assert prompt(pilot).text == ""
