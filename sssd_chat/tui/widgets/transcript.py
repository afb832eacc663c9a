"""The conversation so far, scrolled by the reader or following its end."""

from __future__ import annotations

from textual import events
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Markdown

from sssd_chat.tui.messages import PlaceChanged
from sssd_chat.tui.widgets.answer import Answer
from sssd_chat.tui.widgets.question import Question
from sssd_chat.tui.widgets.welcome import Welcome


class Transcript(VerticalScroll, can_focus=False):
    """Questions and answers, oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self._at_end = True
        self._place: tuple[Widget, int] | None = None
        self._unfolded = False

    def on_mount(self) -> None:
        """Looks at the place whenever text or view move."""
        self.watch(self, "scroll_y", self._look_around_later)
        self.watch(self, "virtual_size", self._look_around_later)

    async def add_question(self, text: str) -> None:
        """Appends a question and goes to it."""
        await self.query_children(Welcome).remove()
        question = Question(text)
        await self.mount(question)
        question.fold(not self._unfolded)
        self.follow()

    async def begin_answer(self, speaker: str) -> Answer:
        """Appends an empty answer."""
        answer = Answer(speaker)
        await self.mount(answer)
        return answer

    async def clear_turns(self) -> None:
        """Empties the transcript."""
        await self.remove_children()
        self.follow()

    def last_answer(self) -> str | None:
        """The text of the newest answer that has one."""
        answers = self.query_children(Answer)
        return next((answer.text for answer in reversed(answers) if answer.text), None)

    def unfold(self) -> None:
        """Shows long questions whole, or folds them again."""
        self._unfolded = not self._unfolded
        for question in self.query_children(Question):
            question.fold(not self._unfolded)

    def follow(self) -> None:
        """Goes to the end and stays there while text comes."""
        if self.max_scroll_y:
            self.anchor()

    @property
    def at_end(self) -> bool:
        """Whether the last line is in view."""
        return self._at_end

    def _look_around_later(self) -> None:
        self.call_after_refresh(self._look_around)

    def _look_around(self) -> None:
        if not self.max_scroll_y:
            # An anchor would push a short chat down to the bottom edge.
            self.anchor(False)
            self.scroll_to(y=0, animate=False, immediate=True)
        elif not self.is_anchored:
            self.anchor()
        at_end = self.is_vertical_scroll_end
        if not at_end:
            self._place = self._top_line()
        if at_end != self._at_end:
            self._at_end = at_end
            self.post_message(PlaceChanged(at_end))

    def _top_line(self) -> tuple[Widget, int] | None:
        """The widget at the top edge, and how many of its lines are above the edge."""
        for turn in self.children:
            if turn.region.bottom > self.region.y:
                blocks = turn.query(Markdown).first().children if turn.query(Markdown) else ()
                for widget in (*blocks, turn):
                    if widget.region.bottom > self.region.y:
                        return widget, max(0, self.region.y - widget.region.y)
        return None

    def on_resize(self, event: events.Resize) -> None:
        """Keeps the line that was read at the top when the text wraps anew."""
        if not self._at_end and self._place is not None:
            self.call_after_refresh(self._return_to, *self._place)

    def _return_to(self, widget: Widget, lines_above: int) -> None:
        if widget.is_attached and widget.region:
            top = widget.region.y - self.region.y + self.scroll_offset.y
            line = min(lines_above, widget.region.height - 1)
            self.scroll_to(y=top + line, animate=False, immediate=True)
