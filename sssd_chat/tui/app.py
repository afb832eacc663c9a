"""The app: themes, the first screen, the palette, and what happens at the end."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.text import Text
from textual import on
from textual.app import App, SystemCommand
from textual.driver import Driver
from textual.screen import Screen

from sssd_chat.config import Config
from sssd_chat.conversation.events import ChatBackend
from sssd_chat.conversation.services import Services
from sssd_chat.text import for_display
from sssd_chat.tui.actions import EVERYWHERE_ACTIONS
from sssd_chat.tui.attention import (
    KEEP_TITLE,
    RESTORE_TITLE,
    run_command,
    sign_for,
    title_sequence,
)
from sssd_chat.tui.driver import TerminalLost, enduring, hurry
from sssd_chat.tui.keymap import keymap_of
from sssd_chat.tui.messages import AnswerFinished, ModelChosen, SettingsChanged
from sssd_chat.tui.screens.action_screen import ActionScreen, bind
from sssd_chat.tui.signals import HUNG_UP, SIGNALLED, told_to_leave
from sssd_chat.tui.themes import DARK, LIGHT, extra_colours

_TEXTUAL_COMMANDS = frozenset({"Theme", "Screenshot"})
_SWITCH_SECONDS = 0.0005
_LOGGER = logging.getLogger("sssd_chat.tui")


class ChatApp(App[None]):
    """A chat with `backend`, or with no backend the screen that says how to get a model.

    `problem` is a sentence that this screen shows first, and `places` those in which models were
    looked for. What is wrong with the settings in
    `config` is told at the start.
    """

    TITLE = "sssd-chat"
    ENABLE_COMMAND_PALETTE = True
    # Nobody knows how the terminal's black looks on its blue.
    CSS = """
    Input:ansi > .input--selection {
        background: transparent;
        color: ansi_default;
        text-style: reverse;
    }
    """

    def __init__(
        self,
        backend: ChatBackend | None,
        problem: str = "",
        config: Config | None = None,
        services: Services | None = None,
        places: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self._backend = backend
        self._problem = problem
        self._config = config or Config()
        self._keeps_chats = self._config.history.keep
        self._places = places
        self.chosen_model = ""
        """The file that was chosen where there was no model; empty when none was."""
        self.services = services or Services()
        self._failed = False
        self._knows_focus = False
        self.keymap, self._key_notices = keymap_of(self._config.keys)
        bind(self, EVERYWHERE_ACTIONS, self.keymap)
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = DARK.name

    def on_mount(self) -> None:
        """Shows the chat, or what to do without a model."""
        self._write(KEEP_TITLE)
        themes = self._choose_theme(self._config.screen.theme)
        notices = [*self._config.notices, *self._key_notices, *themes]
        self.push_screen(self._first_screen())
        for notice in notices:
            self.notify(for_display(notice), severity="warning", markup=False, timeout=15)

    def on_unmount(self) -> None:
        """Nothing of a chat stays in the terminal's title."""
        self._write(title_sequence("") + RESTORE_TITLE)

    def leave(self, code: int) -> None:
        """Leaves as with the key, whatever the event loop is at: the answer so far is kept, and
        the terminal is not left without its cursor and its echo."""
        hurry(self._driver)
        if self._loop is None:
            raise SystemExit(code)
        # When it is closed, the app has left already.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.exit, None, code)

    # The terminal around the app

    def get_driver_class(self) -> type[Driver]:
        """One that outlives the terminal."""
        return enduring(super().get_driver_class())

    @on(TerminalLost)
    def _leave_without_terminal(self) -> None:
        """Leaves as with SIGHUP, which does not come from every terminal that is closed."""
        self.exit(None, SIGNALLED + HUNG_UP)

    def watch_title(self, title: str) -> None:
        """Names the terminal after the chat."""
        self._write(title_sequence(title))

    def _write(self, sequence: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    def on_app_focus(self) -> None:
        """The terminal says where the user looks; not all of them do."""
        self._knows_focus = True

    def on_app_blur(self) -> None:
        """The user looks at another window."""
        self._knows_focus = True

    @on(AnswerFinished)
    def _call_user(self, event: AnswerFinished) -> None:
        """Tells a user who looks elsewhere that a long answer is there."""
        wanted = self._config.screen
        if event.seconds < wanted.long_answer_seconds:
            return
        looks_elsewhere = not self.app_focus
        if wanted.bell and (looks_elsewhere or not self._knows_focus):
            self.bell()
        if wanted.notify and looks_elsewhere:
            sign = sign_for(os.environ)
            self._write(sign.sequence)
            if sign.command:
                self.run_worker(lambda: run_command(sign.command), thread=True, exit_on_error=False)

    # Settings

    @on(SettingsChanged)
    def _follow(self, event: SettingsChanged) -> None:
        """Takes over what of changed settings counts at once."""
        self._config = event.config
        self._choose_theme(event.config.screen.theme)

    def _choose_theme(self, name: str) -> list[str]:
        """Takes the theme, or says that there is none of the name."""
        name = {"dark": DARK.name, "light": LIGHT.name}.get(name, name)
        if name not in self.available_themes:
            return [f"There is no theme {name}; the palette's Theme lists them all."]
        self.theme = name
        return []

    def _first_screen(self) -> Screen[None]:
        if self._backend is None:
            from sssd_chat.tui.screens.first_run import FirstRunScreen

            return FirstRunScreen(self._problem, self.services.models, self._places)
        from sssd_chat.tui.screens.chat import ChatScreen

        return ChatScreen(self._backend)

    @on(ModelChosen)
    def _leave_with(self, event: ModelChosen) -> None:
        self.chosen_model = event.path
        self.exit()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours of our own, for every theme, those of the terminal too."""
        return extra_colours(self.current_theme)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action that applies now, then those of Textual that make sense here."""
        own = screen.ACTIONS if isinstance(screen, ActionScreen) else ()
        for node, actions in ((screen, own), (self, EVERYWHERE_ACTIONS)):
            offered = node.offered if isinstance(node, ActionScreen) else _always
            for action in actions:
                run = getattr(node, f"action_{action.name}", None)
                if action.in_palette and run and offered(action.name):
                    yield SystemCommand(action.title, action.help, run)
        for command in super().get_system_commands(screen):
            if command.title in _TEXTUAL_COMMANDS:
                yield command

    def action_help(self) -> None:
        """Shows the keys and the meaning of the numbers, or closes them."""
        from sssd_chat.tui.screens.help import HelpScreen

        if isinstance(self.screen, HelpScreen):
            self.pop_screen()
        else:
            self.push_screen(HelpScreen())

    async def action_quit(self) -> None:
        """Leaves; asks once while an answer is being written."""
        from sssd_chat.tui.screens.confirm import ConfirmScreen

        if isinstance(self.screen, ConfirmScreen) or not self._is_answering():
            self.exit()
            return
        kept = " What is written of it is kept." if self._keeps_chats else ""
        question = f"An answer is being written. Stop it and leave?{kept}"
        self.push_screen(ConfirmScreen(question, "Leave"), self._leave_if)

    def _leave_if(self, sure: bool | None) -> None:
        if sure:
            self.exit()

    def _is_answering(self) -> bool:
        from sssd_chat.tui.screens.chat import ChatScreen

        chats = (screen for screen in self.screen_stack if isinstance(screen, ChatScreen))
        return any(chat.is_answering for chat in chats)

    def copy_to_clipboard(self, text: str) -> None:
        """Copies by escape sequence, and with the desktop's own program where there is one."""
        from sssd_chat.tui.clipboard import copy_to_desktop

        # Pasted into a shell, an escape sequence of a model could do harm.
        clean = for_display(text)
        super().copy_to_clipboard(clean)
        self.run_worker(lambda: copy_to_desktop(clean), thread=True, exit_on_error=False)

    def _fatal_error(self) -> None:
        """Closes the app after a fault of ours: one sentence for the user, the rest for the log."""
        if self._failed:
            return
        self._failed = True
        error = traceback.format_exc()
        summary = error.strip().splitlines()[-1]
        where = _keep(error)
        self.panic(
            Text(f"sssd-chat closed because of a fault of its own: {summary}\nMore: {where}")
        )


def _always(action: str) -> bool:
    return True


def _keep(error: str) -> str:
    """Puts the details into the log, or into a new file where nothing is logged; its path."""
    for name in ("sssd_chat", None):
        for handler in logging.getLogger(name).handlers:
            if isinstance(handler, logging.FileHandler):
                _LOGGER.error("the interface failed\n%s", error)
                return handler.baseFilename
    with tempfile.NamedTemporaryFile(
        "w", prefix="sssd-chat-", suffix=".log", delete=False, encoding="utf-8"
    ) as file:
        file.write(error)
    return str(Path(file.name))


def run_without_model(
    problem: str, config: Config, services: Services, places: Sequence[str]
) -> str:
    """Says how to get a model, until the user leaves or chooses one of this machine: its file, or
    an empty text. The arguments are those of `ChatApp`."""
    app = ChatApp(None, problem, config, services, places)
    with told_to_leave(app.leave):
        app.run()
    return app.chosen_model


def run_chat(
    backend: ChatBackend | None,
    problem: str = "",
    config: Config | None = None,
    services: Services | None = None,
) -> int:
    """Runs the app until the user leaves it; the exit code."""
    # The engine asks for the interpreter after each step; the default lets it wait for 5 ms when
    # this thread is busy with a screen.
    sys.setswitchinterval(_SWITCH_SECONDS)
    app = ChatApp(backend, problem, config, services)
    try:
        with told_to_leave(app.leave):
            app.run()
    finally:
        if backend is not None:
            backend.close()
    return app.return_code or 0
