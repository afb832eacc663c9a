"""A forgotten chat is on the disk no more, wherever it was."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from sssd_chat import paths
from sssd_chat.conversation.forgetting import forget_chat, forget_chats
from sssd_chat.conversation.history import History, NoSuchChat


def test_a_chat_and_its_states_are_forgotten(home: Path) -> None:
    with contextlib.closing(History(paths.history_file())) as history:
        forgotten, kept = history.add_chat("the marker", ""), history.add_chat("kept", "")
        states = paths.state_cache_folder()
        states.mkdir(parents=True)
        for chat in (forgotten, kept):
            (states / f"0123456789abcdef-{chat}.state").write_text(f"marker of {chat}")
        forget_chat(forgotten)
        assert [chat.id for chat in history.chats()] == [kept]
        assert [file.name for file in states.iterdir()] == [f"0123456789abcdef-{kept}.state"]
        files = [file for file in home.rglob("*") if file.is_file()]
        assert not any(b"the marker" in file.read_bytes() for file in files)


def test_all_are_forgotten_or_none(home: Path) -> None:
    with contextlib.closing(History(paths.history_file())) as history:
        chat = history.add_chat("x", "")
        paths.state_cache_folder().mkdir(parents=True)
        state = paths.state_cache_folder() / f"0123456789abcdef-{chat}.state"
        state.write_text("x")
        with pytest.raises(NoSuchChat):
            forget_chats([chat, 99])
        assert history.has_chat(chat)
        assert state.exists()
