"""The app: themes, the first screen, the palette, and what happens at the end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterable
from pathlib import Path

from rich.text import Text
from textual.app import App, SystemCommand
from textual.screen import Screen

from sssd_chat.config import Config
from sssd_chat.conversation.events import ChatBackend
from sssd_chat.conversation.services import Services
from sssd_chat.text import for_display
from sssd_chat.tui.actions import EVERYWHERE_ACTIONS
from sssd_chat.tui.keymap import keymap_of
from sssd_chat.tui.screens.action_screen import ActionScreen, bind
from sssd_chat.tui.themes import DARK, LIGHT, extra_colours

_TEXTUAL_COMMANDS = frozenset({"Theme", "Screenshot"})
_SWITCH_SECONDS = 0.0005
_SIGNALLED = 128
"""Exit codes from here on say which signal ended the program."""
_LOGGER = logging.getLogger("sssd_chat.tui")


class ChatApp(App[None]):
    """A chat with `backend`, or with no backend the screen that says how to get a model.

    `problem` is a sentence that this screen shows first. What is wrong with the settings in
    `config` is told at the start.
    """

    TITLE = "sssd-chat"
    ENABLE_COMMAND_PALETTE = True

    def __init__(
        self,
        backend: ChatBackend | None,
        problem: str = "",
        config: Config | None = None,
        services: Services | None = None,
    ) -> None:
        super().__init__()
        self._backend = backend
        self._problem = problem
        self._config = config or Config()
        self.services = services or Services()
        self._failed = False
        self.keymap, self._key_notices = keymap_of(self._config.keys)
        bind(self, EVERYWHERE_ACTIONS, self.keymap)
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = DARK.name

    def on_mount(self) -> None:
        """Shows the chat, or what to do without a model."""
        self._leave_on_signals()
        themes = self._choose_theme(self._config.screen.theme)
        notices = [*self._config.notices, *self._key_notices, *themes]
        self.push_screen(self._first_screen())
        for notice in notices:
            self.notify(for_display(notice), severity="warning", markup=False, timeout=15)

    def _leave_on_signals(self) -> None:
        """Leaves as with the key when the program is told to end, or its terminal is closed: the
        answer so far is kept, and the terminal is not left without its cursor and its echo."""
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            # Not on every system, and only in the main thread.
            if number is not None:
                with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                    loop = asyncio.get_running_loop()
                    loop.add_signal_handler(number, self.exit, None, _SIGNALLED + number)

    def _choose_theme(self, name: str) -> list[str]:
        """Takes the theme, or says that there is none of the name."""
        name = {"dark": DARK.name, "light": LIGHT.name}.get(name, name)
        if name not in self.available_themes:
            return [f"There is no theme {name}; the palette's Theme lists them all."]
        self.theme = name
        return []

    def _first_screen(self) -> Screen[None]:
        if self._backend is None:
            from sssd_chat.tui.screens.no_model import NoModelScreen

            return NoModelScreen(self._problem)
        from sssd_chat.tui.screens.chat import ChatScreen

        return ChatScreen(self._backend, rings=self._config.screen.bell)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours of our own, for every theme, those of the terminal too."""
        return extra_colours(self.current_theme)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action that applies now, then those of Textual that make sense here."""
        own = screen.ACTIONS if isinstance(screen, ActionScreen) else ()
        for node, actions in ((screen, own), (self, EVERYWHERE_ACTIONS)):
            for action in actions:
                run = getattr(node, f"action_{action.name}", None)
                if action.in_palette and run and node.check_action(action.name, ()):
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
        app.run()
    finally:
        if backend is not None:
            backend.close()
    return app.return_code or 0
