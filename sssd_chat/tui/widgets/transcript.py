"""The conversation so far, scrolled by the reader or following its end."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Markdown

from sssd_chat.tui.messages import PlaceChanged
from sssd_chat.tui.widgets.answer import Answer
from sssd_chat.tui.widgets.earlier import Earlier
from sssd_chat.tui.widgets.question import Question
from sssd_chat.tui.widgets.turn import Turn
from sssd_chat.tui.widgets.welcome import Welcome

_SCREENS_SHOWN = 4
_LEAST_SCREEN = 30
_TURNS_SHOWN_AT_ONCE = 6


class Transcript(VerticalScroll, can_focus=False):
    """Questions and answers, oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self._at_end = True
        self._place: tuple[Widget, int] | None = None
        self._unfolded = False
        self._earlier = Earlier()

    def compose(self) -> ComposeResult:
        """The line that stands for turns not shown."""
        yield self._earlier

    def on_mount(self) -> None:
        """Looks at the place whenever text or view move."""
        self.watch(self, "scroll_y", self._look_around_later)
        self.watch(self, "virtual_size", self._look_around_later)

    async def add_question(self, text: str) -> None:
        """Appends a question and goes to it."""
        await self.query_children(Welcome).remove()
        self._hide_far_turns()
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
        await self.query_children(Turn).remove()
        self._earlier.stand_for(0)
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

    # Only turns near the reader are laid out: a screen of text costs the same in a chat of any
    # length.

    def _hide_far_turns(self) -> None:
        """Hides all turns but those of the last few screens."""
        lines = _SCREENS_SHOWN * max(_LEAST_SCREEN, self.size.height)
        for turn in reversed(self._turns()):
            if turn.display:
                turn.display = lines > 0
                lines -= turn.region.height
        self._count_hidden()

    def show_earlier(self, count: int | None = None) -> None:
        """Shows some more of the hidden turns, or all of them; what is read stays where it is."""
        hidden = [turn for turn in self._turns() if not turn.display]
        if not hidden:
            return
        place = self._top_line()
        for turn in hidden[-count:] if count else hidden:
            turn.display = True
        self._count_hidden()
        if place is not None:
            self.call_after_refresh(self._return_to, *place)

    def _turns(self) -> list[Turn]:
        return list(self.query_children(Turn).results(Turn))

    def _count_hidden(self) -> None:
        self._earlier.stand_for(sum(not turn.display for turn in self._turns()))

    def go_to_start(self) -> None:
        """Goes to the first question."""
        for turn in self._turns():
            turn.display = True
        self._count_hidden()
        self.scroll_home(animate=False)

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
            if not self.scroll_offset.y:
                self.show_earlier(_TURNS_SHOWN_AT_ONCE)
        if at_end != self._at_end:
            self._at_end = at_end
            self.post_message(PlaceChanged(at_end))

    def _top_line(self) -> tuple[Widget, int] | None:
        """The widget at the top edge, and how many of its lines are above the edge."""
        for turn in self._turns():
            if turn.display and turn.region.bottom > self.region.y:
                blocks = turn.query_one(Markdown).children if isinstance(turn, Answer) else ()
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
