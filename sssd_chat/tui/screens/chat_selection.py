"""The chat screen's message mode: a message is selected, and single keys act on it."""

from __future__ import annotations

from textual import on, work
from textual.widgets import TextArea

from sssd_chat.conversation.events import AnswerParameters, ChatBackend, ChatOpened, Event
from sssd_chat.text import counted, one_line
from sssd_chat.tui.actions import MESSAGE_ACTIONS
from sssd_chat.tui.markdown.code_blocks import code_blocks
from sssd_chat.tui.messages import MessageActionWanted, MessageChosen, QuestionEntered
from sssd_chat.tui.said import Said, hindrance
from sssd_chat.tui.screens.chat_messages import MessageActions

_MESSAGE_NAMES = frozenset(action.name for action in MESSAGE_ACTIONS)


class SelectionActions(MessageActions):
    """The part of the chat screen that acts on single messages: on the selected one, or else on
    the last one that an action fits."""

    def __init__(self, backend: ChatBackend) -> None:
        super().__init__(backend)
        self._editing: Said | None = None
        self._edited_chat: int | None = None
        self._set_aside = ""
        self._last_code: tuple[Said, int] | None = None

    @property
    def selecting(self) -> bool:
        """Whether a message is selected, so that single keys act on it."""
        return self._transcript.selected is not None

    @property
    def editing(self) -> bool:
        """Whether an earlier question stands in the prompt."""
        return self._editing is not None

    def offered(self, action: str) -> bool:
        """Whether the palette has an action: there is a message that it fits."""
        if action in _MESSAGE_NAMES:
            return self._target(action) is not None
        return super().offered(action)

    async def take(self, event: Event) -> None:
        """Another chat or branch ends the editing."""
        if isinstance(event, ChatOpened) and self._branch is None:
            # Another chat has brought its own text for the prompt.
            self._end_editing(put_back=event.chat == self._edited_chat)
        await super().take(event)
        self._prompt.selecting = self.selecting

    def show_state(self) -> None:
        """A question that is asked ends the message mode."""
        super().show_state()
        self._prompt.selecting = self.selecting

    def show_selection(self) -> None:
        """Another message is selected, or none: other keys are in use."""
        self._prompt.selecting = self.selecting
        self.refresh_bindings()

    # Which message

    async def action_previous_message(self) -> None:
        """Selects the message before, at first the last one."""
        if await self._transcript.select_beside(-1):
            self.show_selection()
        elif not self._transcript.turns:
            self.notify("There is no message yet.", markup=False)

    async def action_next_message(self) -> None:
        """Selects the message after; behind the last one, none."""
        if self.selecting and not await self._transcript.select_beside(1):
            self.action_leave_messages()

    action_message_before = action_previous_message
    action_message_after = action_next_message

    def action_leave_messages(self) -> None:
        """Goes back to the prompt."""
        self._transcript.select(None)
        self._prompt.focus()
        self.show_selection()

    @on(MessageChosen)
    def _choose(self, event: MessageChosen) -> None:
        self._transcript.select(event.said)
        self.show_selection()

    @on(MessageActionWanted)
    async def _do_clicked(self, event: MessageActionWanted) -> None:
        self._transcript.select(event.said)
        self.show_selection()
        await self.run_action(event.action)

    @on(TextArea.Changed, "Prompt")
    def _typed(self) -> None:
        """Who types is back in the prompt."""
        if self.selecting:
            self.action_leave_messages()

    def _target(self, action: str) -> Said | None:
        """The message that an action is for."""
        chosen = self._transcript.selected
        turns = [chosen] if chosen is not None else reversed(self._transcript.turns)
        return next((said for said in turns if not self._hindrance(action, said)), None)

    def _hindrance(self, action: str, said: Said) -> str:
        last = said is self._transcript.turns[-1]
        return hindrance(action, said, last=last, busy=self._state.busy)

    def _fitting(self, action: str) -> Said | None:
        """The message that an action is for; without one, says why."""
        said = self._target(action)
        if said is None:
            chosen = self._transcript.selected
            if chosen is None and self._transcript.turns:
                chosen = self._transcript.turns[-1]
            self.notify(
                self._hindrance(action, chosen) if chosen else "There is no message yet.",
                markup=False,
            )
        return said

    # Copying

    def action_copy_message(self) -> None:
        """Copies the message."""
        said = self._fitting("copy_message")
        if said is not None:
            self.app.copy_to_clipboard(said.text if said.is_answer else said.question)
            self.notify(f"{'Answer' if said.is_answer else 'Question'} copied.", markup=False)

    def action_copy_answer(self) -> None:
        """Copies the last answer."""
        text = self._transcript.last_answer()
        if text is None:
            self.notify("There is no answer to copy yet.", markup=False)
            return
        self.app.copy_to_clipboard(text)
        self.notify("Answer copied.", markup=False)

    def action_copy_code(self) -> None:
        """Copies the first block of code of the message, the next time the second, and so on."""
        said = self._fitting("copy_code")
        if said is None:
            return
        blocks = code_blocks(said.text)
        if not blocks:
            self.notify("This message has no block of code.", markup=False)
            return
        number = 0
        if self._last_code is not None and self._last_code[0] is said:
            number = (self._last_code[1] + 1) % len(blocks)
        self._last_code = (said, number)
        block = blocks[number]
        self.app.copy_to_clipboard(block.text)
        what = f"Block {number + 1} of {len(blocks)}" if len(blocks) > 1 else "The block"
        kind = f"{one_line(block.language)[:20]}, " if block.language else ""
        lines = counted(block.text.count("\n"), "line")
        self.notify(f"{what} copied: {kind}{lines}.", markup=False)

    # Branches

    def action_edit_message(self) -> None:
        """Puts the question into the prompt, to be asked anew."""
        said = self._fitting("edit_message")
        if said is None:
            return
        if self._editing is None:
            self._set_aside = self._prompt.question
            self._edited_chat = self._state.chat
        self.action_leave_messages()
        self._editing = said
        number = [one for one in self._transcript.turns if not one.is_answer].index(said) + 1
        self.show_banner(f"editing question {number} · Esc gives up")
        self._prompt.put(said.question)
        self.refresh_bindings()

    def give_up_editing(self) -> None:
        """What was in the prompt before comes back."""
        self._end_editing(put_back=True)

    def _end_editing(self, *, put_back: bool) -> None:
        if self._editing is not None:
            self._editing = None
            self.show_banner("")
            if put_back:
                self._prompt.put(self._set_aside)
            self.refresh_bindings()

    @on(QuestionEntered)
    async def _ask(self, event: QuestionEntered) -> None:
        edited = self._editing
        if edited is None or edited.turn is None:
            await self.ask(event.text)
            return
        self.give_up_editing()
        self.begin_branch(event.text)
        self._backend.ask_instead(edited.turn, event.text)

    def action_regenerate(self) -> None:
        """Another answer to the same question."""
        said = self._fitting("regenerate")
        if said is not None:
            self._regenerate(said, None)

    @work
    async def action_regenerate_with(self) -> None:
        """The same, with parameters that are asked for."""
        from sssd_chat.tui.screens.parameters import ParametersScreen

        said = self._fitting("regenerate_with")
        if said is not None:
            parameters = await self.app.push_screen_wait(ParametersScreen(said.parameters))
            if parameters is not None and not self._hindrance("regenerate_with", said):
                self._regenerate(said, parameters)

    def _regenerate(self, said: Said, parameters: AnswerParameters | None) -> None:
        if said.turn is not None:
            self.action_leave_messages()
            self.begin_branch(None)
            self._backend.regenerate(said.turn, parameters)

    def action_continue_answer(self) -> None:
        """The last answer goes on."""
        said = self._fitting("continue_answer")
        if said is not None and said.turn is not None:
            self.action_leave_messages()
            self.go_on_with_answer()
            self._backend.continue_answer(said.turn)

    @work
    async def action_delete_message(self) -> None:
        """Takes the message and all that follow it away, after a question."""
        from sssd_chat.tui.screens.confirm import ConfirmScreen

        said = self._fitting("delete_message")
        if said is None:
            return
        turns = self._transcript.turns
        following = len(turns) - 1 - next(n for n, one in enumerate(turns) if one is said)
        what = "answer" if said.is_answer else "question"
        rest = f" and {counted(following, 'message')} after it" if following else ""
        question = (
            f"Delete this {what}{rest}? The text leaves the history, "
            "and nothing will be drafted from it."
        )
        if not await self.app.push_screen_wait(ConfirmScreen(question, "Delete", "Keep")):
            return
        # Meanwhile the answer may have come to its end, or another one begun.
        if said.turn is not None and not self._hindrance("delete_message", said):
            self._transcript.select(None)
            self._backend.delete_turn(said.turn)

    def action_previous_branch(self) -> None:
        """Goes on with the branch before."""
        self._choose_sibling("previous_branch", -1)

    def action_next_branch(self) -> None:
        """Goes on with the branch after."""
        self._choose_sibling("next_branch", 1)

    def _choose_sibling(self, action: str, step: int) -> None:
        said = self._fitting(action)
        if said is not None and said.turn is not None:
            self._backend.choose_sibling(said.turn, step)

    # Statistics

    def action_message_statistics(self) -> None:
        """Shows how the answer was written."""
        from sssd_chat.tui.screens.statistics import StatisticsScreen

        said = self._fitting("message_statistics")
        if said is not None and said.statistics is not None:
            self.app.push_screen(StatisticsScreen(said, said.statistics))

    action_answer_statistics = action_message_statistics
