"""Where questions are typed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from textual import events
from textual.actions import SkipAction
from textual.widgets import TextArea
from textual.widgets.text_area import Location, Selection

from sssd_chat.text import counted, for_display
from sssd_chat.tui.actions import action_called
from sssd_chat.tui.keymap import keymap_of_app
from sssd_chat.tui.messages import (
    CommandEntered,
    CommandUnknown,
    QuestionEntered,
    QuestionHeldBack,
)
from sssd_chat.tui.slash import command_in
from sssd_chat.tui.widgets.suggestion_list import SuggestionList

_CHIP_ABOVE_LINES = 15
_CHIP_ABOVE_CHARACTERS = 1500
_CHIP = re.compile(r"⟦paste \d+: [\d,]+ \w+⟧")


class Prompt(TextArea):
    """A text area that sends on Enter, remembers what was sent, and folds huge pastes."""

    def __init__(self, placeholder: str, suggestions: SuggestionList) -> None:
        """`suggestions` is the list whose keys are pressed here."""
        super().__init__(
            placeholder=placeholder, soft_wrap=True, compact=True, highlight_cursor_line=False
        )
        self._answering = False
        self._blinks = self.cursor_blink
        self.selecting = False
        """Whether a message is selected: what is typed goes to it, not here."""
        self._suggestions = suggestions
        self._pastes: dict[str, str] = {}
        self._sent: list[str] = []
        self._position = 0
        self._unsent = ""
        keymap = keymap_of_app(self.app)
        self._send_keys = keymap.keys(action_called("send"))
        self._new_line_keys = keymap.keys(action_called("new_line"))

    @property
    def question(self) -> str:
        """The text with pasted blocks in their places."""
        return _CHIP.sub(lambda chip: self._pastes.get(chip[0], chip[0]), self.text)

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Letters are typed, unless they are meant for a message."""
        return not self.selecting and super().check_consume_key(key, character)

    @property
    def answering(self) -> bool:
        """Whether an answer is on its way, so that no question is sent."""
        return self._answering

    @answering.setter
    def answering(self, answering: bool) -> None:
        if answering == self._answering:
            return
        self._answering = answering
        # For a blink Textual goes through all widgets; the engine lacks that time.
        if answering:
            self._blinks, self.cursor_blink = self.cursor_blink, False
        else:
            self.cursor_blink = self._blinks

    async def _on_key(self, event: events.Key) -> None:
        """Enter and the keys for a new line. They are no bindings: those with priority overtake
        the characters typed before them."""
        if self._suggestions.is_open and self._lead_suggestions(event.key):
            pass
        elif event.key in self._send_keys:
            self._send()
        elif event.key in self._new_line_keys:
            self.insert("\n")
        else:
            return
        event.stop()
        event.prevent_default()

    def _send(self) -> None:
        """Hands the question to the screen and is empty at once, for what is typed next."""
        question = self.question
        if not question.strip():
            return
        typed = command_in(question)
        if typed is not None and typed.action is None:
            self.post_message(CommandUnknown(typed.command))
            return
        if self.answering and typed is None:
            self.post_message(QuestionHeldBack())
            return
        self.answering = self.answering or typed is None
        if not self._sent or self._sent[-1] != self.text:
            self._sent.append(self.text)
        self._position = len(self._sent)
        self._unsent = ""
        self.clear()
        self._suggestions.close()
        if typed is not None and typed.action is not None:
            self.post_message(CommandEntered(typed.action, typed.argument))
        else:
            self.post_message(QuestionEntered(question))

    def begin(self, command: str) -> None:
        """Puts the beginning of a command in front of what stands here."""
        self.focus()
        self.insert(command, (0, 0))
        self.move_cursor((0, len(command)))

    def put(self, text: str) -> None:
        """Shows this text and nothing else, large texts as chips."""
        self.clear()
        if text:
            self.insert_paste(text)
        self._position = len(self._sent)

    def action_copy(self) -> None:
        """Copies what is selected in the prompt."""
        if not self.selected_text:
            raise SkipAction()
        self.app.copy_to_clipboard(self.selected_text)

    # Suggestions

    def _lead_suggestions(self, key: str) -> bool:
        """Moves in the suggestions, takes one or closes them; whether the key was one for that."""
        shown = self._suggestions
        if key in ("up", "down"):
            shown.move(1 if key == "down" else -1)
        elif key == "escape":
            shown.close()
        elif key == "tab" and shown.nearest is not None:
            self.take(shown.nearest.text)
        elif key in self._send_keys and shown.marked is not None:
            # What stands there in full is sent by the first Enter.
            if shown.marked.text.rstrip() == self.text.rstrip():
                return False
            self.take(shown.marked.text)
        else:
            return False
        return True

    def take(self, text: str) -> None:
        """Goes on with a suggestion."""
        self._suggestions.close()
        self.text = text
        self.move_cursor(self.document.end)
        self.focus()

    # History

    def remember(self, questions: Sequence[str]) -> None:
        """The questions asked before, oldest first, in place of those of another chat."""
        self._sent = list(questions)
        self._position = len(self._sent)

    def action_cursor_up(self, select: bool = False) -> None:
        """Goes up a line, or to the question before."""
        at_top = self.wrapped_document.location_to_offset(self.cursor_location).y == 0
        if select or not at_top or not self._position:
            super().action_cursor_up(select)
            return
        if self._position == len(self._sent):
            self._unsent = self.text
        self._recall(self._position - 1)

    def action_cursor_down(self, select: bool = False) -> None:
        """Goes down a line, or to the question after."""
        line = self.wrapped_document.location_to_offset(self.cursor_location).y
        at_bottom = line >= self.wrapped_document.height - 1
        if select or not at_bottom or self._position == len(self._sent):
            super().action_cursor_down(select)
            return
        self._recall(self._position + 1)

    def _recall(self, position: int) -> None:
        self._position = position
        text = self._sent[position] if position < len(self._sent) else self._unsent
        # A question of an earlier session may be large, or hold what must not be drawn.
        self.text = self._folded(text)
        self.move_cursor(self.document.end)

    # Pastes

    async def _on_paste(self, event: events.Paste) -> None:
        """Inserts the text; a huge one, or one with control characters, as a chip."""
        event.stop()
        event.prevent_default()
        self.insert_paste(event.text)

    def action_paste(self) -> None:
        """Inserts what was copied inside the app."""
        self.insert_paste(self.app.clipboard)

    def insert_paste(self, text: str) -> None:
        """Inserts pasted text at the cursor."""
        text = self._folded(text.replace("\r\n", "\n").replace("\r", "\n"))
        self.replace(text, *self.selection, maintain_selection_offset=False)
        self.focus()

    def _folded(self, text: str) -> str:
        """The text, or a chip that stands for it."""
        lines = text.count("\n") + 1
        huge = lines > _CHIP_ABOVE_LINES or len(text) > _CHIP_ABOVE_CHARACTERS
        # Control characters belong to the text but must not reach the terminal.
        if not huge and for_display(text) == text:
            return text
        size = counted(lines, "line") if lines > 1 else counted(len(text), "character")
        chip = f"⟦paste {len(self._pastes) + 1}: {size}⟧"
        self._pastes[chip] = text
        return chip

    def validate_selection(self, selection: Selection) -> Selection:
        """Keeps the cursor out of the inside of a chip, which moves and goes as one."""
        forward = selection.end >= self.selection.end
        start = self._outside_chip(selection.start, forward)
        return Selection(start, self._outside_chip(selection.end, forward))

    def _outside_chip(self, location: Location, forward: bool) -> Location:
        row, column = location
        if row < self.document.line_count:
            for chip in _CHIP.finditer(self.document[row]):
                if chip.start() < column < chip.end() and chip[0] in self._pastes:
                    return row, chip.end() if forward else chip.start()
        return location

    def action_delete_word_right(self) -> None:
        """Deletes the word to the right, or a whole chip."""
        row, column = self.cursor_location
        chip = _CHIP.match(self.document[row], column)
        if chip and self.selection.is_empty:
            self.action_delete_right()
        else:
            super().action_delete_word_right()

    def get_cursor_left_location(self) -> Location:
        """One character to the left, or a whole chip."""
        return self._outside_chip(super().get_cursor_left_location(), False)

    def get_cursor_right_location(self) -> Location:
        """One character to the right, or a whole chip."""
        return self._outside_chip(super().get_cursor_right_location(), True)

    def get_cursor_word_left_location(self) -> Location:
        """One word to the left, or a whole chip."""
        return self._outside_chip(super().get_cursor_word_left_location(), False)

    def get_cursor_word_right_location(self) -> Location:
        """One word to the right, or a whole chip."""
        return self._outside_chip(super().get_cursor_word_right_location(), True)
