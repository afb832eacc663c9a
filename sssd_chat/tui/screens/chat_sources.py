"""The chat screen's marks of where drafted words came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on, work
from textual.containers import Vertical

from sssd_chat.conversation.events import AnswerDone, ChatBackend, ChatOpened, Event, Span
from sssd_chat.errors import UserError
from sssd_chat.text import for_display
from sssd_chat.tui.messages import SpanChosen
from sssd_chat.tui.provenance import mark, origin
from sssd_chat.tui.said import Said
from sssd_chat.tui.screens.chat_selection import SelectionActions
from sssd_chat.tui.widgets.source_bar import SourceBar
from sssd_chat.tui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from sssd_chat.conversation.source_text import SourceText

_SPAN_ACTIONS = frozenset({"next_span", "previous_span"})
_TURNS_LOOKED_AT = 40


class SourceActions(SelectionActions):
    """The part of the chat screen that shows answers with their drafted words marked."""

    def __init__(self, backend: ChatBackend) -> None:
        super().__init__(backend)
        self._sourced = False

    async def take(self, event: Event) -> None:
        """Names the sources of what comes."""
        await super().take(event)
        match event:
            case AnswerDone(spans=spans):
                self._name_sources(spans)
            case ChatOpened():
                self._name_sources(())
            case _:
                pass

    async def action_toggle_provenance(self) -> None:
        """Marks drafted words by their sources, or shows answers as usual again."""
        self._sourced = not self._sourced
        if self._sourced:
            await self.query_one("#chat", Vertical).mount(
                SourceBar(), before=self.query_one(StatusLine)
            )
            self._name_sources(())
        else:
            await self.query(SourceBar).remove()
        await self._transcript.mark_sources(self._sourced)
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While words are marked, their keys act before a message is selected, too."""
        if action in _SPAN_ACTIONS:
            return self._sourced and (self.selecting or not self._prompt.text)
        return super().check_action(action, parameters)

    def _name_sources(self, spans: tuple[Span, ...]) -> None:
        """The legend has the sources of all answers near the end, and of what comes."""
        for bar in self.query(SourceBar):
            recent = self._transcript.turns[-_TURNS_LOOKED_AT:]
            bar.name_sources([*spans, *(span for said in recent for span in said.spans)])

    # From one span to the next

    def action_next_span(self) -> None:
        """Looks at the next drafted words of the answer."""
        self._move_span(1)

    def action_previous_span(self) -> None:
        """Looks at the drafted words before."""
        self._move_span(-1)

    def _move_span(self, step: int) -> None:
        transcript = self._transcript
        chosen = transcript.selected
        if chosen is None or not chosen.spans:
            answers = (said for said in reversed(transcript.turns) if said.spans)
            chosen = next(answers, None)
            if chosen is None:
                self.notify("No words of these answers are known to be drafted.", markup=False)
                return
            number = 0 if step > 0 else len(chosen.spans) - 1
        elif transcript.span is None:
            number = 0 if step > 0 else len(chosen.spans) - 1
        else:
            number = (transcript.span + step) % len(chosen.spans)
        self._look_at(chosen, number)

    def _look_at(self, said: Said, number: int) -> None:
        self._transcript.look_at_span(said, number)
        for bar in self.query(SourceBar):
            bar.name_span(said.spans, number)
        self.show_selection()

    @on(SpanChosen)
    def _look_at_clicked(self, event: SpanChosen) -> None:
        self._look_at(event.said, event.number)

    def action_leave_messages(self) -> None:
        """No words are looked at any more."""
        super().action_leave_messages()
        for bar in self.query(SourceBar):
            bar.name_span((), None)

    async def action_open_source(self) -> None:
        """Shows the chat or the document that the words came from, at their place."""
        chosen, number = self._transcript.selected, self._transcript.span
        if chosen is None or number is None:
            self.notify(
                "First choose drafted words: f7 marks them, tab goes from one to the next.",
                markup=False,
            )
            return
        span = chosen.spans[number]
        if not span.document:
            what = origin(span)
            self.notify(f"{what[0].upper()}{what[1:]}; there is no text to open.", markup=False)
            return
        self._open(span, chosen.text[span.start : span.end])

    @work(thread=True, exclusive=True, group="source")
    def _open(self, span: Span, words: str) -> None:
        """Reads the source in a thread, for it may be long."""
        from sssd_chat.conversation.source_text import open_source

        try:
            source = open_source(span, words)
        except UserError as error:
            self.app.call_from_thread(
                self.notify, for_display(str(error)), severity="error", markup=False
            )
            return
        self.app.call_from_thread(self._show_source, source, mark(span.source).style)

    def _show_source(self, source: SourceText, style: str) -> None:
        from sssd_chat.tui.screens.source import SourceScreen

        self.app.push_screen(
            SourceScreen(source.title, source.text, source.start, source.end, style)
        )
