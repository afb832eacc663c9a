"""What the screen does with a text while it is typed, and with one that was kept."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from sssd_chat.conversation.events import QuestionKept, TokensCounted
from sssd_chat.errors import UserError
from sssd_chat.tui.editor import edited, editor_command
from tests.tui.conftest import OpenChat
from tests.tui.fake_backend import FakeBackend, opened, shown_turn, wait_until
from tests.tui.screen import ask, prompt, shows, told


async def test_tokens_are_counted_and_the_text_is_kept(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        assert shows(pilot, "enter asks · ctrl+j new line")
        await pilot.press(*"hello")
        await wait_until(pilot, lambda: backend.counted == ["hello"])
        backend.put(TokensCounted(3, 1204))
        await wait_until(pilot, lambda: shows(pilot, "3 tokens · 1,204 of 8,192"))
        await wait_until(pilot, lambda: backend.saved_prompts == ["hello"])
        backend.put(TokensCounted(9000, 9001))
        await wait_until(pilot, lambda: shows(pilot, "too long"))
        await pilot.press("ctrl+u")
        await wait_until(pilot, lambda: shows(pilot, "enter asks"))


async def test_typing_fast_counts_once(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        for letter in "a long question":
            prompt(pilot).insert(letter)
        await wait_until(pilot, lambda: backend.counted)
        assert backend.counted == ["a long question"]


async def test_the_text_is_kept_when_the_chat_is_left(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await pilot.press(*"half")
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: backend.new_chats == 1)
        assert backend.saved_prompts == ["half"]
        await pilot.press("x")
    assert backend.saved_prompts[-1].endswith("x")


async def test_a_question_that_the_model_did_not_come_to_is_put_back(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend, "too early")
        await pilot.press(*"more")
    assert backend.saved_prompts[-1] == "too early\n\nmore"


async def test_a_question_that_was_kept_is_not_put_back(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend, "in time")
        backend.put(QuestionKept(1, 0, 1))
        await wait_until(pilot, lambda: backend.idle)
        await pilot.press(*"more")
    assert backend.saved_prompts[-1] == "more"


async def test_a_kept_text_and_the_questions_of_a_chat_come_back(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    huge = "line\n" * 40
    async with open_chat() as pilot:
        turns = (shown_turn("user", "why?"), shown_turn("assistant", "So."))
        backend.put(opened(*turns, chat=3, prompt="and the"))
        await wait_until(pilot, lambda: prompt(pilot).text == "and the")
        await pilot.press("up")
        assert prompt(pilot).text == "why?"
        await pilot.press("down")
        assert prompt(pilot).text == "and the"
        backend.put(opened(chat=4, prompt=huge))
        await wait_until(pilot, lambda: prompt(pilot).text.startswith("⟦paste"))
        assert prompt(pilot).question == huge
        await pilot.press("up")
        assert prompt(pilot).text.startswith("⟦paste"), "no questions of the other chat"
        backend.put(opened(chat=5))
        await wait_until(pilot, lambda: prompt(pilot).text == "")


async def test_what_is_typed_before_a_chat_is_open_stays(backend: FakeBackend) -> None:
    from sssd_chat.tui.app import ChatApp

    backend = FakeBackend(None)
    async with ChatApp(backend).run_test() as pilot:
        await wait_until(pilot, lambda: backend.started)
        await pilot.press(*"early")
        backend.put(opened(chat=3, prompt=""))
        await wait_until(pilot, lambda: backend.idle)
        await pilot.pause(0.1)
        assert prompt(pilot).text == "early"


def _editor(folder: Path, program: str) -> str:
    script = folder / "editor.py"
    script.write_text(f"import os, sys\npath = sys.argv[-1]\n{program}\n")
    return f"{sys.executable} {script}"


def test_the_editor_changes_the_text_in_a_private_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    program = f"""
open({str(seen)!r}, "w").write(path + " " + oct(os.stat(path).st_mode))
text = open(path, encoding="utf-8").read()
open(path, "w", encoding="utf-8").write(text.upper() + "\\n")
"""
    monkeypatch.setenv("VISUAL", _editor(tmp_path, program))
    assert edited("schön\nhier") == "SCHÖN\nHIER"
    path, mode = seen.read_text().split()
    assert not Path(path).exists() and not Path(path).parent.exists()
    if os.name == "posix":
        assert stat.S_IMODE(int(mode, 8)) == 0o600


@pytest.mark.parametrize(
    ("editor", "says"),
    [
        ("", "No editor is set"),
        ("/no/such/editor", "cannot be started: No such file"),
        ("'unclosed", "cannot be understood"),
        ("fails", "ended with 3; the text stays"),
        ("deletes", "cannot be read"),
    ],
)
def test_what_goes_wrong_with_an_editor_is_one_sentence(
    editor: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = {"fails": "sys.exit(3)", "deletes": "os.remove(path)"}
    command = _editor(tmp_path, programs[editor]) if editor in programs else editor
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", command)
    with pytest.raises(UserError, match=says):
        edited("text")


def test_visual_goes_before_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "ed")
    monkeypatch.setenv("VISUAL", "code --wait")
    assert editor_command() == ["code", "--wait"]


async def test_without_an_editor_the_key_says_so(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    async with open_chat() as pilot:
        await pilot.press(*"text", "f9")
        await wait_until(pilot, lambda: told(pilot, "No editor is set"))
        assert prompt(pilot).text == "text"
