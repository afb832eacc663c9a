"""The chat screen's prompt: what a command may go on with, the count of tokens, the kept text, and
the user's own editor."""

from __future__ import annotations

import time

from textual import on, work
from textual.app import SuspendNotSupported
from textual.content import Content
from textual.widgets import OptionList, TextArea
from textual.worker import get_current_worker

from sssd_chat.conversation.attachments import split_attachments
from sssd_chat.conversation.events import (
    AttachmentsChanged,
    ChatBackend,
    ChatOpened,
    Event,
    ModelReady,
    TokensCounted,
)
from sssd_chat.errors import UserError
from sssd_chat.text import for_display
from sssd_chat.tui.actions import action_called
from sssd_chat.tui.completion import Suggestions, suggestions_for
from sssd_chat.tui.editor import edited, editor_command
from sssd_chat.tui.keymap import keymap_of_app, shown_key
from sssd_chat.tui.messages import QuestionHeldBack
from sssd_chat.tui.screens.chat_base import ChatScreenBase

_COUNT_AFTER_SECONDS = 0.15
_KEEP_AFTER_SECONDS = 1.0
"""Without another key."""


class PromptActions(ChatScreenBase):
    """The part of the chat screen that helps with typing."""

    def __init__(self, backend: ChatBackend) -> None:
        super().__init__(backend)
        self._typed_at = 0.0
        self._not_read_ahead = False
        self._not_counted = False
        self._not_kept = False
        self._chat: int | None = None
        self._is_first_chat = True
        self._counted: TokensCounted | None = None

    # What the engine tells

    async def take(self, event: Event) -> None:
        """Shows what goes along with the next question, its tokens, and what was kept."""
        match event:
            case ChatOpened(turns=turns, prompt=kept):
                asked = [split_attachments(turn.text)[1] for turn in turns if turn.role == "user"]
                self._prompt.remember(asked)
                self._put_kept(event.chat, kept)
            case AttachmentsChanged(documents):
                self._attached = documents
                self.show_prompt_title()
            case TokensCounted():
                self._counted = event
                self._show_count()
            case ModelReady():
                self._not_counted = True
            case _:
                pass
        await super().take(event)

    def _put_kept(self, chat: int | None, kept: str) -> None:
        """What was kept with a chat comes back; what is typed before the first chat is open, or
        before a chat has a number, stays."""
        changed = chat != self._chat
        if kept if self._is_first_chat else changed:
            self._prompt.put(kept)
        self._chat = chat
        self._is_first_chat = False

    def _show_count(self) -> None:
        """The tokens of the question, or the first keys while there is none."""
        counted, model = self._counted, self._state.model
        if counted is None or model is None or not self._prompt.text:
            self._prompt.border_subtitle = Content(self._keys_to_send())
            return
        room = model.context_length
        text = f"{counted.tokens:,} tokens · {counted.total:,} of {room:,}"
        if counted.total >= room:
            self._prompt.border_subtitle = Content.styled(f"✖ too long: {text}", "$text-error")
        else:
            self._prompt.border_subtitle = Content(text)

    def _keys_to_send(self) -> str:
        keymap = keymap_of_app(self.app)
        words = (("send", "asks"), ("new_line", "new line"))
        named = [(keymap.keys(action_called(name)), does) for name, does in words]
        return " · ".join(f"{shown_key(keys[0])} {does}" for keys, does in named if keys)

    # What the user types

    @on(TextArea.Changed, "Prompt")
    def _note_typing(self) -> None:
        self._typed_at = time.monotonic()
        self._pace.typed()
        self._not_read_ahead = self._not_counted = self._not_kept = True
        if not self._prompt.text:
            self._show_count()
        self._suggest(self._prompt.text)

    def follow_typing(self) -> None:
        """Lets the engine read ahead, count and keep what was typed; called many times a second, so
        that a key press costs nothing."""
        rested = time.monotonic() - self._typed_at
        if self._not_read_ahead:
            self._not_read_ahead = False
            self._backend.draft(self._prompt.question)
        if self._not_counted and rested > _COUNT_AFTER_SECONDS:
            self._not_counted = False
            if self._prompt.text:
                self._backend.count_tokens(self._prompt.question)
        if rested > _KEEP_AFTER_SECONDS:
            self.keep_prompt()

    def keep_prompt(self) -> None:
        """Keeps what stands in the prompt with the chat; to be called before another chat opens."""
        if self._not_kept:
            self._not_kept = False
            self._backend.save_prompt(self._prompt.question)

    @on(QuestionHeldBack)
    def _hold_back(self) -> None:
        self.notify("An answer is on its way; Esc stops it.", markup=False)

    # Suggestions

    def _suggest(self, text: str) -> None:
        if text.startswith("/") and "\n" not in text:
            self._look_for_suggestions(text)
        elif self._suggestions.is_open:
            self._suggestions.close()

    @work(thread=True, exclusive=True, group="suggestions", exit_on_error=False)
    def _look_for_suggestions(self, text: str) -> None:
        found = suggestions_for(text, self._model_names)
        if not get_current_worker().is_cancelled:
            self.app.call_from_thread(self._offer, text, found)

    def _model_names(self) -> list[str]:
        catalogue = self._services.models
        return [model.name for model in catalogue.models()] if catalogue else []

    def _offer(self, text: str, suggestions: Suggestions) -> None:
        if self.is_attached and self._prompt.text == text:
            exact = [item for item in suggestions.items if item.text == text]
            self._suggestions.offer(Suggestions() if exact else suggestions)

    @on(OptionList.OptionSelected, "SuggestionList")
    def _take_clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._prompt.take(self._suggestions.at(event.option_index).text)

    # The editor

    def action_open_editor(self) -> None:
        """Lets the user's own editor change what stands in the prompt."""
        try:
            editor_command()
            with self.app.suspend():
                text = edited(self._prompt.question)
        except UserError as error:
            self.notify(for_display(str(error)), severity="error", markup=False)
        except SuspendNotSupported:
            self.notify("No other program can run in this terminal.", markup=False)
        else:
            self._prompt.put(text)
        self._prompt.focus()
