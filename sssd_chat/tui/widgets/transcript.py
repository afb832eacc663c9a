"""The conversation so far, scrolled by the reader or following its end."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.dom import DOMNode
from textual.widget import Widget

from sssd_chat.tui.actions import MESSAGE_ACTIONS, Action
from sssd_chat.tui.keymap import keymap_of_app, shown_key
from sssd_chat.tui.messages import MessageChosen
from sssd_chat.tui.said import Said, hindrance
from sssd_chat.tui.widgets.answer import Answer
from sssd_chat.tui.widgets.earlier import Earlier
from sssd_chat.tui.widgets.following import FollowingScroll, Place
from sssd_chat.tui.widgets.question import Question
from sssd_chat.tui.widgets.selection import MessageSelection
from sssd_chat.tui.widgets.sourced_text import SourcedText
from sssd_chat.tui.widgets.turn import Turn
from sssd_chat.tui.widgets.welcome import Welcome

_SCREENS_KEPT = 3
_LEAST_SCREEN = 30
_TURNS_BROUGHT_BY_SCROLLING = 6
_TURNS_BROUGHT_BY_KEY = 40


class Transcript(FollowingScroll):
    """Questions and answers, oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self._unfolded = False
        self._sourced = False
        self._busy = False
        self._earlier = Earlier()
        self._said: list[Said] = []
        self._hidden = 0
        self._selection = MessageSelection(self._offers)

    def compose(self) -> ComposeResult:
        """The line that stands for turns not shown."""
        yield self._earlier

    async def add_question(self, text: str, question: str) -> None:
        """Appends a question and goes to it. `text` has a line for each document as well."""
        await self.query_children(Welcome).remove()
        self.select(None)
        await self._hide_far_turns()
        self._said.append(Said(text, question=question))
        await self.mount(self._turn(self._said[-1]))
        self.follow()

    async def begin_answer(self, speaker: str) -> Answer:
        """Appends an empty answer."""
        self._said.append(Said(speaker=speaker))
        answer = Answer(self._said[-1], not self._unfolded, self._sourced)
        await self.mount(answer)
        return answer

    def resume_answer(self) -> Answer | None:
        """Lets the last answer go on, and goes to its end."""
        turns = self._turns()
        if not turns or not isinstance(answer := turns[-1], Answer):
            return None
        self.select(None)
        answer.resume()
        self.follow()
        return answer

    def question_kept(self, turn: int, position: int, siblings: int) -> None:
        """The last question has its number now."""
        for said in reversed(self._said):
            if not said.is_answer:
                said.turn, said.position, said.siblings = turn, position, siblings
                for shown in self._turns():
                    if shown.said is said:
                        shown.show_branch()
                return

    def unkept_question(self) -> str:
        """The last question, if the engine has not come to it yet; else an empty text."""
        last = next((said for said in reversed(self._said) if not said.is_answer), None)
        return last.question if last is not None and last.turn is None else ""

    async def restore(self, turns: Sequence[Said]) -> None:
        """Shows these turns in place of all others. Those that are shown already stay where they
        are; else the end is shown."""
        await self.query_children(Welcome).remove()
        same = _common(self._said, turns)
        if same > self._hidden and len(turns) - same <= _TURNS_BROUGHT_BY_SCROLLING:
            with self.app.batch_update():
                await self._replace_from(same, turns)
            return
        self.select(None)
        with self.app.batch_update():
            await self.query_children(Turn).remove()
            self._said = list(turns)
            self._hide(len(self._said))
            await self.show_earlier(_TURNS_BROUGHT_BY_SCROLLING)
        self.follow()

    async def _replace_from(self, same: int, turns: Sequence[Said]) -> None:
        """Puts other turns behind the first ones; what is read and selected keeps its place."""
        chosen = self._number_of(self._selection.said)
        place = None if self.at_end else self.top_place()
        for said, new in zip(self._said[:same], turns, strict=False):
            said.position, said.siblings = new.position, new.siblings
        shown = self._turns()
        for turn in shown[: same - self._hidden]:
            turn.show_branch()
        for turn in shown[same - self._hidden :]:
            await turn.remove()
        self._said[same:] = turns[same:]
        await self.mount_all([self._turn(said) for said in self._said[same:]])
        if chosen is not None:
            self.select(self._said[chosen] if chosen < len(self._said) else None)
        self.hold(place)

    async def remove_from(self, turn: int) -> None:
        """Takes away a turn and all that follow it."""
        first = next((n for n, said in enumerate(self._said) if said.turn == turn), None)
        if first is None:
            return
        self.select(None)
        gone = self._said[first:]
        del self._said[first:]
        for shown in self._turns():
            if any(shown.said is said for said in gone):
                await shown.remove()
        if self._hidden > len(self._said):
            self._hide(len(self._said))
            await self.show_earlier(_TURNS_BROUGHT_BY_SCROLLING)

    async def clear_turns(self) -> None:
        """Empties the transcript."""
        await self.query_children(Turn).remove()
        self._selection.choose(None)
        self._said.clear()
        self._hide(0)
        self.follow()

    def last_answer(self) -> str | None:
        """The text of the newest answer that has one."""
        answers = (said.text for said in reversed(self._said) if said.is_answer)
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

    # The selected message

    @property
    def turns(self) -> Sequence[Said]:
        """All turns, oldest first, those that are no widgets too."""
        return self._said

    @property
    def selected(self) -> Said | None:
        """The message that is selected."""
        return self._selection.said

    @property
    def span(self) -> int | None:
        """The number of the drafted span that is looked at in the selected answer."""
        return self._selection.span

    def set_busy(self, busy: bool) -> None:
        """While an answer is written, less can be done with the others."""
        if busy != self._busy:
            self._busy = busy
            self._selection.show(self._turns())

    def select(self, said: Said | None) -> None:
        """Selects a message that is on the screen or near, or none."""
        if said is self._selection.said:
            return
        self._selection.choose(said)
        self._selection.show(self._turns())
        if self._sourced:
            self.run_worker(self._show_sources(), group="sources")

    async def select_beside(self, step: int) -> bool:
        """Selects the message before (-1) or after (1) and brings it into view; whether there is
        one. With none selected, the one before is the last of all."""
        number = self._number_of(self._selection.said)
        number = (len(self._said) if number is None else number) + step
        if not 0 <= number < len(self._said):
            return False
        if number < self._hidden:
            await self.show_earlier(_TURNS_BROUGHT_BY_SCROLLING)
        self.select(self._said[number])
        self.call_after_refresh(self._show_selected)
        return True

    def _number_of(self, said: Said | None) -> int | None:
        return next((n for n, one in enumerate(self._said) if one is said), None)

    def _show_selected(self) -> None:
        """Brings the selected message into view; one that fills half of it already stays."""
        turn = next((t for t in self._turns() if t.said is self._selection.said), None)
        if turn is None:
            return
        view, region = self.content_region, turn.region
        if region.height > view.height:
            if view.intersection(region).height * 2 < view.height:
                self.scroll_to_widget(turn, animate=False, top=True, immediate=True)
        elif not view.contains_region(region):
            self.scroll_to_widget(turn, animate=False, immediate=True)

    def _offers(self, said: Said) -> list[tuple[Action, str]]:
        keymap = keymap_of_app(self.app)
        last = bool(self._said) and said is self._said[-1]
        return [
            (action, shown_key(keys[0]))
            for action in MESSAGE_ACTIONS
            if action.label
            and (said is self.selected or action.name != "leave_messages")
            and (keys := keymap.keys(action))
            and not hindrance(action.name, said, last=last, busy=self._busy)
        ]

    def on_enter(self, event: events.Enter) -> None:
        """The mouse came to a message."""
        self._selection.hover(_turn_of(event.node))

    def on_leave(self) -> None:
        """The mouse left a message, perhaps for another part of it."""
        if not self.is_mouse_over:
            self._selection.hover(None)

    def on_click(self, event: events.Click) -> None:
        """A click selects, unless it was to mark text."""
        turn = _turn_of(event.widget) if event.widget is not None else None
        if turn is not None and not self.screen.get_selected_text():
            self.post_message(MessageChosen(turn.said))

    # Where the words came from

    async def mark_sources(self, sourced: bool) -> None:
        """Shows answers as they were written, with their drafted spans marked, or as Markdown."""
        place = None if self.at_end else self.top_place()
        top = _turn_of(place.widget) if place else None
        self._sourced = sourced
        self._selection.choose(self._selection.said)
        await self._show_sources()
        # Of an answer, no line of one view is a line of the other.
        self.hold(Place(top, 0, 1) if top else None)

    async def _show_sources(self) -> None:
        for answer in self.query_children(Answer).results(Answer):
            is_chosen = answer.said is self._selection.said
            await answer.mark_sources(self._sourced, self._selection.span if is_chosen else None)

    def look_at_span(self, said: Said, number: int) -> None:
        """Selects a drafted span of an answer and brings it into view."""
        self._selection.choose(said, number)
        self._selection.show(self._turns())
        self.run_worker(self._show_sources(), group="sources")
        self.call_after_refresh(self._show_span)

    def _show_span(self) -> None:
        turn = next((t for t in self._turns() if t.said is self._selection.said), None)
        if turn is None or self._selection.span is None:
            return
        for text in turn.query(SourcedText):
            place, view = text.place(self._selection.span), self.content_region
            line = text.region.y + (place.y if place else 0)
            if not view.y <= line < view.bottom:
                middle = line - view.y - view.height // 2
                self.scroll_relative(y=middle, animate=False, immediate=True)

    # Only turns near the reader are widgets, so that a screen costs the same in a chat of any
    # length.

    def _turn(self, said: Said) -> Turn:
        folded = not self._unfolded
        return Answer(said, folded, self._sourced) if said.is_answer else Question(said, folded)

    def blocks(self) -> Sequence[Widget]:
        """The turns that are widgets."""
        return self._turns()

    def parts(self, block: Widget) -> Sequence[Widget]:
        """The text of an answer."""
        return (block.text,) if isinstance(block, Answer) else ()

    async def reach_top(self) -> None:
        """Brings back some of the turns above."""
        await self.show_earlier(_TURNS_BROUGHT_BY_SCROLLING)

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
            place = self.top_place()
            self._hide(first)
            self._held = place is not None
            await self.mount_all(back, after=self._earlier)
            self.hold(place)

    async def go_to_start(self) -> None:
        """Goes to the first question. A very long chat comes back in parts."""
        await self.show_earlier(_TURNS_BROUGHT_BY_KEY)
        self.call_after_refresh(self.scroll_home, animate=False)


def _turn_of(node: DOMNode) -> Turn | None:
    return next((one for one in node.ancestors_with_self if isinstance(one, Turn)), None)


def _common(old: Sequence[Said], new: Sequence[Said]) -> int:
    """How many turns both begin with."""
    pairs = zip(old, new, strict=False)
    same = itertools.takewhile(lambda pair: pair[0].turn == pair[1].turn is not None, pairs)
    return sum(1 for _ in same)
