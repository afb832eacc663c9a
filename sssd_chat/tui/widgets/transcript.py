"""The conversation so far, scrolled by the reader or following its end."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Markdown

from sssd_chat.tui.messages import PlaceChanged
from sssd_chat.tui.widgets.answer import Answer
from sssd_chat.tui.widgets.earlier import Earlier
from sssd_chat.tui.widgets.question import Question
from sssd_chat.tui.widgets.turn import Said, Turn
from sssd_chat.tui.widgets.welcome import Welcome

_SCREENS_KEPT = 3
_LEAST_SCREEN = 30
_TURNS_BROUGHT_BY_SCROLLING = 6
_TURNS_BROUGHT_BY_KEY = 40


class Transcript(VerticalScroll, can_focus=False):
    """Questions and answers, oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self._at_end = True
        self._place: tuple[Widget, int] | None = None
        self._held = False
        self._released = False
        self._width = 0
        self._unfolded = False
        self._earlier = Earlier()
        self._said: list[Said] = []
        self._hidden = 0

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
        await self._hide_far_turns()
        self._said.append(Said(text))
        await self.mount(self._turn(self._said[-1]))
        self.follow()

    async def begin_answer(self, speaker: str) -> Answer:
        """Appends an empty answer."""
        self._said.append(Said(speaker=speaker))
        answer = Answer(self._said[-1], not self._unfolded)
        await self.mount(answer)
        return answer

    async def restore(self, turns: Sequence[Said]) -> None:
        """Begins with the turns of an earlier chat, and shows its end."""
        await self.query_children(Welcome).remove()
        self._said = list(turns)
        self._hide(len(self._said))
        await self.show_earlier(_TURNS_BROUGHT_BY_SCROLLING)
        self.follow()

    async def clear_turns(self) -> None:
        """Empties the transcript."""
        await self.query_children(Turn).remove()
        self._said.clear()
        self._hide(0)
        self.follow()

    def last_answer(self) -> str | None:
        """The text of the newest answer that has one."""
        answers = (said.text for said in reversed(self._said) if said.speaker)
        return next((text for text in answers if text), None)

    def unfold(self) -> None:
        """Shows thinking and long questions whole, or folds them again."""
        self._unfolded = not self._unfolded
        for turn in self.query_children(Turn):
            if isinstance(turn, Question | Answer):
                turn.fold(not self._unfolded)

    def mark_left_out(self, turns: int) -> None:
        """Shows where the prompt begins now: behind so many turns with an answer."""
        joined = [said for said in self._said if said.joined]
        for number, said in enumerate(joined, start=1):
            said.left_out = number == turns
        for answer in self.query_children(Answer):
            answer.mark_left_out(answer.said.left_out)

    # Only turns near the reader are widgets, so that a screen costs the same in a chat of any
    # length.

    def _turn(self, said: Said) -> Turn:
        folded = not self._unfolded
        return Answer(said, folded) if said.speaker else Question(said, folded)

    def _turns(self) -> list[Turn]:
        return list(self.query_children(Turn).results(Turn))

    def _hide(self, turns: int) -> None:
        self._hidden = turns
        self._earlier.stand_for(turns)

    async def _hide_far_turns(self) -> None:
        """Takes away all turns but those of the last few screens."""
        lines = _SCREENS_KEPT * max(_LEAST_SCREEN, self.size.height)
        far = []
        for turn in reversed(self._turns()):
            if lines <= 0:
                far.append(turn)
            lines -= turn.region.height
        self._hide(self._hidden + len(far))
        for turn in far:
            await turn.remove()

    async def show_earlier(self, turns: int) -> None:
        """Brings back some turns; what is read stays where it is."""
        first = max(0, self._hidden - turns)
        back = [self._turn(said) for said in self._said[first : self._hidden]]
        if back:
            place = self._top_line()
            self._held = place is not None
            self._hide(first)
            await self.mount_all(back, after=self._earlier)
            for turn in back:
                if isinstance(turn, Answer):
                    await turn.restore()
            if place is not None:
                self.call_after_refresh(self._return_to, *place)

    async def go_to_start(self) -> None:
        """Goes to the first question. A very long chat comes back in parts."""
        await self.show_earlier(_TURNS_BROUGHT_BY_KEY)
        self.call_after_refresh(self.scroll_home, animate=False)

    def follow(self) -> None:
        """Goes to the end and stays there while text comes."""
        if self.max_scroll_y:
            self.anchor()
        self._released = False

    @property
    def at_end(self) -> bool:
        """Whether the last line is in view."""
        return self._at_end

    def _look_around_later(self) -> None:
        self.call_after_refresh(self._look_around)

    async def _look_around(self) -> None:
        if self._held:
            return
        if self.size.width != self._width:
            self._width = self.size.width
            if not self._at_end and self._place is not None:
                # The text was wrapped anew.
                self._return_to(*self._place)
                return
        if not self.max_scroll_y:
            # An anchor would push a short chat down to the bottom edge.
            if self.is_anchored:
                self.anchor(False)
                self.scroll_to(y=0, animate=False, immediate=True)
        elif not self.is_anchored:
            self.anchor()
        # While the view still moves, its target says where it is going.
        came_back = self.is_vertical_scroll_end and self.scroll_target_y >= self.max_scroll_y
        if came_back and self._released:
            self.follow()
        at_end = not self._released
        if at_end != self._at_end:
            self._at_end = at_end
            self.post_message(PlaceChanged(at_end))
        if not at_end:
            self._place = self._top_line()
            if not self.scroll_offset.y:
                await self.show_earlier(_TURNS_BROUGHT_BY_SCROLLING)

    def release_anchor(self) -> None:
        """The reader scrolls. Scrolling on at the end must not stop the following."""
        super().release_anchor()
        self._released = True
        self._look_around_later()

    def _top_line(self) -> tuple[Widget, int] | None:
        """The widget at the top edge, and how many of its lines are above the edge."""
        edge = self.content_region.y
        for turn in self._turns():
            if turn.region.bottom > edge:
                blocks = turn.query_one(Markdown).children if isinstance(turn, Answer) else ()
                for widget in (*blocks, turn):
                    if widget.region.bottom > edge:
                        return widget, max(0, edge - widget.region.y)
        return None

    def _return_to(self, widget: Widget, lines_above: int) -> None:
        self._held = False
        if widget.is_attached and widget.region:
            top = widget.region.y - self.content_region.y + self.scroll_offset.y
            line = min(lines_above, widget.region.height - 1)
            self.scroll_to(y=top + line, animate=False, immediate=True)
