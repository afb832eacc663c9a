"""The chat screen's messages: asking, the answer as it comes, reading back, and what can be done
with a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on

from sssd_chat.conversation.attachments import with_chips
from sssd_chat.conversation.events import (
    AnswerDone,
    AnswerFailed,
    AnswerStep,
    ChatBackend,
    ChatOpened,
    Event,
    ModelReady,
    StoppedBy,
    TurnsLeftOut,
)
from sssd_chat.text import for_display
from sssd_chat.tui.chat_state import Phase
from sssd_chat.tui.messages import FollowRequested, PlaceChanged, QuestionEntered
from sssd_chat.tui.pace import Pace
from sssd_chat.tui.screens.chat_base import ChatScreenBase
from sssd_chat.tui.widgets.follow_hint import FollowHint
from sssd_chat.tui.widgets.turn import Said

if TYPE_CHECKING:
    from sssd_chat.tui.widgets.answer import Answer


class MessageActions(ChatScreenBase):
    """The part of the chat screen that shows messages."""

    def __init__(self, backend: ChatBackend) -> None:
        super().__init__(backend)
        self._answer: Answer | None = None
        self._pace = Pace()

    # What the engine tells

    async def take(self, event: Event) -> None:
        """Shows the answer, and earlier messages."""
        match event:
            case AnswerStep(text=text, thinking=thinking) if self._answer is not None:
                self._answer.add(text, thinking)
            case AnswerDone(text, stopped_by, statistics, thinking) if self._answer is not None:
                await self._answer.finish(text, stopped_by, statistics, thinking)
                self._answer = None
            case AnswerFailed(message, text, thinking) if self._answer is not None:
                await self._answer.fail(text, message, thinking)
                self._answer = None
            case AnswerFailed(message):
                self.notify(for_display(message), severity="error", markup=False)
            case ModelReady(info) if self._answer is not None:
                self._answer.name_speaker(info.name)
            case ChatOpened(turns=turns) if turns:
                await self._transcript.restore([Said.restored(turn) for turn in turns])
            case TurnsLeftOut(turns):
                self._transcript.mark_left_out(turns)
            case _:
                pass
        await super().take(event)

    async def draw_answer(self) -> bool:
        """Draws what was written of the answer, unless it is too early for that."""
        due = self._answer is not None and self._pace.due()
        if due and self._answer is not None:
            await self._answer.draw()
        return due

    async def give_up_answer(self) -> None:
        """Ends an answer that will never come."""
        if self._answer is not None:
            await self._answer.finish("", StoppedBy.CANCELLED, None)
            self._answer = None

    # What the user does

    @on(QuestionEntered)
    async def _ask(self, event: QuestionEntered) -> None:
        self._state.asked()
        attached = [(document.name, document.lines) for document in self._attached]
        await self._transcript.add_question(with_chips(event.text, attached))
        name = self._state.model.name if self._state.model else "the model"
        self._answer = await self._transcript.begin_answer(name)
        if self._state.phase is Phase.WAITING:
            self._answer.wait()
        self._backend.send(event.text)
        self.show_state()
        self.refresh_bindings()

    @on(PlaceChanged)
    def _hint(self, event: PlaceChanged) -> None:
        self.query_one(FollowHint).set_class(not event.at_end, "-shown")

    @on(FollowRequested)
    def action_follow(self) -> None:
        """Goes to the end and follows it."""
        self._transcript.follow()

    async def action_go_to_start(self) -> None:
        """Goes to the first question."""
        await self._transcript.go_to_start()

    def action_page_up(self) -> None:
        """Scrolls back by a page."""
        self._scroll(-self._page)

    def action_page_down(self) -> None:
        """Scrolls on by a page."""
        self._scroll(self._page)

    def action_line_up(self) -> None:
        """Scrolls back by a line."""
        self._scroll(-1)

    def action_line_down(self) -> None:
        """Scrolls on by a line."""
        self._scroll(1)

    @property
    def _page(self) -> int:
        return max(1, self._transcript.size.height - 2)

    def _scroll(self, lines: int) -> None:
        self._transcript.scroll_relative(y=lines, animate=False, immediate=True)

    def action_copy_answer(self) -> None:
        """Copies the last answer."""
        text = self._transcript.last_answer()
        if text is None:
            self.notify("There is no answer to copy yet.", markup=False)
            return
        self.app.copy_to_clipboard(text)
        self.notify("Answer copied.", markup=False)

    def action_unfold(self) -> None:
        """Shows thinking and long questions whole, or folds them again."""
        self._transcript.unfold()
