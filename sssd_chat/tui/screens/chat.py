"""The chat: transcript, prompt, and the numbers of the engine beside them."""

from __future__ import annotations

import os
import time
from pathlib import PurePath
from typing import ClassVar

from textual import events, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from sssd_chat.conversation.events import (
    AnswerDone,
    AnswerFailed,
    ChatBackend,
    Drafting,
    Event,
    ModelFailed,
    ModelReady,
    Notice,
    StoppedBy,
)
from sssd_chat.text import for_display
from sssd_chat.tui import collector
from sssd_chat.tui.chat_state import Phase
from sssd_chat.tui.messages import AnswerFinished
from sssd_chat.tui.screens.chat_commands import CommandActions
from sssd_chat.tui.screens.chat_navigation import PANEL_FROM_COLUMNS, NavigationActions
from sssd_chat.tui.screens.chat_prompt import PromptActions
from sssd_chat.tui.screens.chat_sources import SourceActions
from sssd_chat.tui.widgets.follow_hint import FollowHint
from sssd_chat.tui.widgets.key_footer import KeyFooter
from sssd_chat.tui.widgets.panel import LivePanel
from sssd_chat.tui.widgets.status_line import StatusLine
from sssd_chat.tui.widgets.welcome import Welcome

_FLUSHES_PER_SECOND = 16
_FIGURES_SECONDS = 1.0
"""Numbers that change faster than this cannot be read, and drawing them costs more than text."""
_WIDTHS = [(0, "-narrow"), (PANEL_FROM_COLUMNS, "-panel"), (140, "-wide")]
_HEIGHTS = [(0, "-low"), (30, "-middle"), (36, "-high")]
"""Style classes by the size of the terminal, from so many columns or lines on."""


class ChatScreen(PromptActions, SourceActions, NavigationActions, CommandActions):
    """One conversation with one model."""

    CSS_PATH: ClassVar[list[str | PurePath]] = [
        "chat.tcss",
        "chat_messages.tcss",
        "chat_panel.tcss",
    ]
    AUTO_FOCUS = "Prompt"
    HORIZONTAL_BREAKPOINTS = _WIDTHS
    VERTICAL_BREAKPOINTS = _HEIGHTS

    def __init__(self, backend: ChatBackend) -> None:
        super().__init__(backend)
        self._busy_since: float | None = None
        self._clear_when_stopped = False
        self._figures_at = 0.0

    def compose(self) -> ComposeResult:
        """Chat on the left, numbers on the right, keys at the bottom."""
        with Horizontal():
            with Vertical(id="chat"):
                with Vertical(id="reading"):
                    yield self._transcript
                    yield FollowHint()
                    yield self._suggestions
                yield StatusLine(self._state)
                yield self._prompt
            yield LivePanel(self._state)
        yield KeyFooter()

    async def on_mount(self) -> None:
        """Shows the first screen, and only then begins to load the model."""
        await self._transcript.mount(Welcome(self._state))
        self._show_count()
        self.call_after_refresh(self._begin)

    def on_unmount(self) -> None:
        """Nothing goes on without the screen, and nothing typed is lost."""
        self.close_imports()
        self.keep_prompt()
        if unkept := self._transcript.unkept_question():
            # The model was not there yet. It is put back into the prompt.
            texts = (unkept, self._prompt.question)
            self._backend.save_prompt("\n\n".join(filter(None, texts)))

    def _begin(self) -> None:
        self._backend.start()
        self.set_interval(1 / _FLUSHES_PER_SECOND, self._take_events)

    def on_resize(self) -> None:
        """Folds the numbers into one line where the panel has no room."""
        self.fold_panel()

    def on_key(self, event: events.Key) -> None:
        """Typing goes to the prompt, wherever the focus is."""
        if event.is_printable and event.character and self.focused is not self._prompt:
            self._prompt.focus()
            self._prompt.insert(event.character)
            event.stop()

    # What the engine tells

    async def _take_events(self) -> None:
        self.follow_typing()
        if self._state.busy and self._busy_since is None:
            self._busy_since = time.monotonic()
        taken = self._backend.events()
        phase = self._state.phase
        for event in taken:
            self._state.apply(event)
            await self.take(event)
        self._figures_are_old = self._figures_are_old or bool(taken)
        if phase is not self._state.phase:
            self.show_state()
            self.refresh_bindings()
        elif self.draw_answer():
            if time.monotonic() - self._figures_at >= _FIGURES_SECONDS:
                self._figures_at = time.monotonic()
                self.show_state()
        elif not self._state.busy and self._figures_are_old:
            self.show_state()

    async def take(self, event: Event) -> None:
        """Shows what concerns the whole screen, after its parts."""
        await super().take(event)
        match event:
            case AnswerDone(stopped_by=stopped_by):
                await self._rest(was_stopped=stopped_by is StoppedBy.CANCELLED)
            case AnswerFailed():
                await self._rest(was_stopped=False)
            case ModelReady(info):
                collector.settle()
                self._pace.is_scarce = not info.gpu and info.threads >= (os.cpu_count() or 1)
                if self._prompt.disabled:
                    self._prompt.disabled = False
                    self._prompt.focus()
            case ModelFailed(message):
                await self._show_no_model(message)
            case Notice(message, severity):
                known = "error" if severity == "error" else "information"
                self.notify(
                    for_display(message),
                    severity="warning" if severity == "warning" else known,  # type: ignore[arg-type]
                    markup=False,
                )
            case _:
                pass

    async def _show_no_model(self, message: str) -> None:
        self.give_up_answer()
        for welcome in self.query(Welcome):
            welcome.show(self._state, message)
        if not self.query(Welcome):
            await self._transcript.mount(Welcome(self._state, message))
        self._prompt.disabled = True

    @property
    def is_answering(self) -> bool:
        """Whether a question is being answered."""
        return self._state.busy

    async def _rest(self, *, was_stopped: bool) -> None:
        """The answer is over."""
        if self._busy_since is not None and not was_stopped:
            self.post_message(AnswerFinished(time.monotonic() - self._busy_since))
        self._busy_since = None
        if self._clear_when_stopped:
            await self._clear()

    # What the user does

    def action_stop(self) -> None:
        """Stops the answer, or gives up editing a question."""
        self.clear_selection()
        self.give_up_editing()
        if self._verifying:
            self._backend.cancel()
        elif self._state.busy and self._state.phase is not Phase.STOPPING:
            self._state.stop_asked()
            self._backend.cancel()
            self.show_state()
            self.refresh_bindings()

    def action_copy_text(self) -> None:
        """Copies the selection; with nothing selected, the key stops the answer."""
        if self._state.busy and not self.get_selected_text():
            self.action_stop()
        else:
            super().action_copy_text()

    @work
    async def action_new_chat(self) -> None:
        """Begins an empty chat; asks first when that stops an answer."""
        if self._state.busy:
            from sssd_chat.tui.screens.confirm import ConfirmScreen

            question = "An answer is being written. Stop it and begin a new chat?"
            if not await self.app.push_screen_wait(ConfirmScreen(question, "New chat")):
                return
        if self._state.busy:
            # What the old answer still sends must not land in the new chat.
            self._clear_when_stopped = True
            self.action_stop()
        else:
            await self._clear()

    async def _clear(self) -> None:
        self._clear_when_stopped = False
        self.keep_prompt()
        self._backend.new_chat()
        self._state.cleared()
        await self._transcript.clear_turns()
        await self._transcript.mount(Welcome(self._state))
        self.show_state()

    def action_open_settings(self) -> None:
        """Shows every setting, to be changed."""
        from sssd_chat.tui.screens.settings import SettingsScreen

        self.app.push_screen(SettingsScreen())

    def action_toggle_drafts(self) -> None:
        """Switches drafts on or off."""
        if self._state.drafting is Drafting.IMPOSSIBLE:
            self.notify(Drafting.IMPOSSIBLE.value.capitalize() + ".", markup=False)
            return
        self._state.drafts_wanted = not self._state.drafts_wanted
        self._backend.set_drafting(self._state.drafts_wanted)
        self.show_state()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Greys out what does not apply now."""
        if action == "stop" and not (self._state.busy or self._verifying or self.editing):
            return None
        return super().check_action(action, parameters)
