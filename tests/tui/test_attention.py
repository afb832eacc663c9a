"""Signs for a user who looks elsewhere, the terminal's title, and leaving."""

from __future__ import annotations

import pytest
from textual import events

from sssd_chat.config import Config
from sssd_chat.config.settings import HistoryConfig, ScreenConfig
from sssd_chat.conversation.events import StoppedBy
from sssd_chat.tui.app import ChatApp
from sssd_chat.tui.attention import Sign, sign_for, title_sequence
from sssd_chat.tui.screens.confirm import ConfirmScreen
from tests.tui.conftest import OpenChat
from tests.tui.fake_backend import FakeBackend, wait_until
from tests.tui.screen import ask, shows


@pytest.mark.parametrize(
    ("environment", "start"),
    [
        ({"TERM_PROGRAM": "WezTerm"}, "\x1b]9;"),
        ({"TERM_PROGRAM": "WezTerm", "SSH_CONNECTION": "x"}, "\x1b]9;"),
        ({"KITTY_WINDOW_ID": "1"}, "\x1b]99;;"),
        ({"TERM": "foot"}, "\x1b]777;notify;"),
        ({"TERM": "foot", "TMUX": "x"}, "\x1bPtmux;\x1b\x1b]777;notify;"),
    ],
)
def test_terminals_that_can_tell_the_desktop(environment: dict[str, str], start: str) -> None:
    sign = sign_for(environment)
    assert sign.sequence.startswith(start) and not sign.command


def test_the_desktops_own_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sssd_chat.tui.attention.sys.platform", "linux")
    monkeypatch.setattr("sssd_chat.tui.attention.shutil.which", lambda name: f"/bin/{name}")
    assert sign_for({"DISPLAY": ":0"}).command[0] == "notify-send"
    assert sign_for({"DISPLAY": ":0", "SSH_CONNECTION": "x"}) == Sign()
    assert sign_for({}) == Sign()
    monkeypatch.setattr("sssd_chat.tui.attention.sys.platform", "darwin")
    assert sign_for({}).command[0] == "osascript"


def test_a_title_cannot_do_harm() -> None:
    assert title_sequence("a\x1b]2;b\x07\nc") == "\x1b]2;a]2;b c\x07"


class _App(ChatApp):
    """Notes the signs instead of giving them."""

    def __init__(self, backend: FakeBackend, screen: ScreenConfig) -> None:
        super().__init__(backend, config=Config(screen=screen))
        self.signs: list[str] = []

    def bell(self) -> None:
        self.signs.append("bell")

    def _write(self, sequence: str) -> None:
        if "\x1b]9;" in sequence:
            self.signs.append("desktop")


@pytest.mark.parametrize(
    ("focus", "seconds", "stopped_by", "signs"),
    [
        ("unknown", 0.0, StoppedBy.END, ["bell"]),
        ("elsewhere", 0.0, StoppedBy.END, ["bell", "desktop"]),
        ("here", 0.0, StoppedBy.END, []),
        ("elsewhere", 60.0, StoppedBy.END, []),
        ("elsewhere", 0.0, StoppedBy.CANCELLED, []),
    ],
)
async def test_signs_when_an_answer_is_finished(
    focus: str,
    seconds: float,
    stopped_by: StoppedBy,
    signs: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM_PROGRAM", "WezTerm")
    backend = FakeBackend()
    app = _App(backend, ScreenConfig(bell=True, long_answer_seconds=seconds))
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: backend.started and backend.idle)
        await ask(pilot, backend)
        if focus != "unknown":
            app.post_message(events.AppBlur())
        if focus == "here":
            app.post_message(events.AppFocus())
        # The screen looks many times a second whether an answer is being written.
        await pilot.pause(0.15)
        backend.answer("Done.", stopped_by)
        await wait_until(pilot, lambda: not app._is_answering())
        await pilot.pause()
        assert app.signs == signs


async def test_leaving_during_an_answer_asks_once(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend)
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        assert shows(pilot, "is kept")
        await pilot.press("n")
        await wait_until(pilot, lambda: not isinstance(pilot.app.screen, ConfirmScreen))
        assert pilot.app.is_running
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        await pilot.press("ctrl+q")
    assert pilot.app.return_code == 0 and backend.cancelled == 0


async def test_leaving_promises_nothing_where_nothing_is_kept() -> None:
    backend = FakeBackend()
    app = ChatApp(backend, config=Config(history=HistoryConfig(keep=False)))
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: backend.started and backend.idle)
        await ask(pilot, backend)
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        assert not shows(pilot, "is kept")
        await pilot.press("y")
    assert app.return_code == 0


async def test_leaving_at_rest_asks_nothing(open_chat: OpenChat) -> None:
    async with open_chat() as pilot:
        await pilot.press("ctrl+q")
    assert pilot.app.return_code == 0
