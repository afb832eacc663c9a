"""The chat screen's messages: asking, the answer as it comes, and reading back."""

from __future__ import annotations

from dataclasses import dataclass
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
    QuestionKept,
    TurnDeleted,
    TurnsLeftOut,
)
from sssd_chat.text import for_display
from sssd_chat.tui.chat_state import Phase
from sssd_chat.tui.messages import FollowRequested, PlaceChanged
from sssd_chat.tui.said import Said
from sssd_chat.tui.screens.chat_base import ChatScreenBase
from sssd_chat.tui.widgets.follow_hint import FollowHint
from sssd_chat.tui.widgets.welcome import Welcome

if TYPE_CHECKING:
    from sssd_chat.tui.widgets.answer import Answer


@dataclass(frozen=True, slots=True)
class _Branch:
    """What comes below the turns that the engine is about to name."""

    question: str | None
    """None where a question is answered again."""


class MessageActions(ChatScreenBase):
    """The part of the chat screen that shows messages."""

    def __init__(self, backend: ChatBackend) -> None:
        super().__init__(backend)
        self._answer: Answer | None = None
        self._branch: _Branch | None = None

    # What the engine tells

    async def take(self, event: Event) -> None:
        """Shows the answer, and earlier messages."""
        match event:
            case AnswerStep() if self._answer is not None:
                self._answer.add(event.text, event.thinking, event.spans)
            case AnswerDone() if self._answer is not None:
                self._answer.finish(event)
                self._forget_answer()
            case AnswerFailed() if self._answer is not None:
                self._answer.fail(event)
                self._forget_answer()
            case AnswerFailed(message):
                self._forget_answer()
                self.notify(for_display(message), severity="error", markup=False)
            case AnswerDone():
                self._forget_answer()
            case ModelReady(info) if self._answer is not None:
                self._answer.name_speaker(info.name)
            case ChatOpened(turns=turns):
                await self._show_chat([Said.restored(turn) for turn in turns])
            case QuestionKept(turn, position, siblings):
                self._transcript.question_kept(turn, position, siblings)
            case TurnDeleted(turn):
                await self._transcript.remove_from(turn)
                await self._welcome_if_empty()
            case TurnsLeftOut(turns):
                self._transcript.mark_left_out(turns)
            case _:
                pass
        await super().take(event)

    async def _show_chat(self, turns: list[Said]) -> None:
        """Shows a chat or a branch; then what was asked of it follows."""
        branch, self._branch = self._branch, None
        if branch is None and self._answer is not None:
            # A question was asked since, and it is not asked again.
            return
        await self._transcript.restore(turns)
        if branch is None:
            await self._welcome_if_empty()
            return
        if branch.question is not None:
            await self._transcript.add_question(branch.question, branch.question)
        await self._begin_answer()
        self._transcript.follow()

    async def _welcome_if_empty(self) -> None:
        if not self._transcript.turns and not self.query(Welcome):
            await self._transcript.mount(Welcome(self._state))

    def _forget_answer(self) -> None:
        self._answer = self._branch = None

    def show_state(self) -> None:
        """Draws what depends on what goes on."""
        super().show_state()
        self._transcript.set_busy(self._state.busy)

    def draw_answer(self) -> bool:
        """Draws what was written of the answer, unless it is too early for that."""
        due = self._answer is not None and self._pace.due()
        if due and self._answer is not None:
            self._answer.draw()
        return due

    def give_up_answer(self) -> None:
        """Ends an answer that will never come."""
        if self._answer is not None:
            self._answer.give_up()
        self._forget_answer()

    # What the user does

    async def ask(self, question: str) -> None:
        """Asks a question below the last turn."""
        self._state.asked()
        attached = [(document.name, document.lines) for document in self._attached]
        await self._transcript.add_question(with_chips(question, attached), question)
        await self._begin_answer()
        self._backend.send(question)
        self._show_asked()

    async def _begin_answer(self) -> None:
        name = self._state.model.name if self._state.model else "the model"
        self._answer = await self._transcript.begin_answer(name)
        if self._state.phase is Phase.WAITING:
            self._answer.wait()

    def _show_asked(self) -> None:
        self.show_state()
        self.refresh_bindings()

    def begin_branch(self, question: str | None) -> None:
        """An answer is asked for in place of another one; the engine names the turns before."""
        self._state.asked()
        self._branch = _Branch(question)
        self._show_asked()

    def go_on_with_answer(self) -> None:
        """The last answer is asked to go on."""
        self._state.asked()
        self._answer = self._transcript.resume_answer()
        self._show_asked()

    # Reading back

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

    def action_unfold(self) -> None:
        """Shows thinking and long questions whole, or folds them again."""
        self._transcript.unfold()
