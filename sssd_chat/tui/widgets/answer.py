"""An answer while it is written and afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from sssd_chat.conversation.events import AnswerDone, AnswerFailed, Span, StoppedBy
from sssd_chat.text import for_display, one_line
from sssd_chat.tui.messages import LinkChosen
from sssd_chat.tui.provenance import with_new
from sssd_chat.tui.said import FAILED, Said
from sssd_chat.tui.widgets.answer_text import AnswerText
from sssd_chat.tui.widgets.sourced_text import SourcedText
from sssd_chat.tui.widgets.thinking import Thinking
from sssd_chat.tui.widgets.turn import Turn

_LEFT_OUT = "▲ Up to here the chat is no longer in the prompt: the context is full."


class Answer(Turn):
    """One answer of the model."""

    def __init__(self, said: Said, folded: bool = True, sourced: bool = False) -> None:
        """With `folded`, thinking is one line; with `sourced`, the text is marked by where it came
        from."""
        super().__init__(said)
        self._sourced = sourced
        self._pending: list[str] = []
        self._thinking = Thinking(said.thinking, folded)
        self._text = AnswerText(for_display(said.text))
        self._line = Static(said.note, classes=f"note {said.style}", markup=False)

    def compose(self) -> ComposeResult:
        """The name of the speaker, the text, what it cost, and what can be done with it."""
        yield self._speaker
        yield self._thinking
        if self._sourced:
            yield SourcedText(self.said)
        self._text.display = not self._sourced
        yield self._text
        left_out = Static(_LEFT_OUT, classes="left-out", markup=False)
        left_out.display = self.said.left_out
        yield left_out
        self._line.display = bool(self.said.note)
        yield self._line
        yield self.footer

    @property
    def text(self) -> AnswerText | SourcedText:
        """What shows its text now."""
        return next(iter(self.query(SourcedText)), self._text)

    def wait(self) -> None:
        """Says that the model is not there yet."""
        self._note("◌ waits until the model is loaded")

    def name_speaker(self, name: str) -> None:
        """The model is there, and its name is known."""
        self.said.speaker = name
        self._note("")
        self.show_branch()

    def fold(self, folded: bool) -> None:
        """Shows one line of the thinking, or all of it."""
        self._thinking.fold(folded)

    def mark_left_out(self, left_out: bool) -> None:
        """Says, or no longer says, that the prompt begins below this answer."""
        self.said.left_out = left_out
        self.query_one(".left-out").display = left_out

    async def mark_sources(self, sourced: bool, current: int | None = None) -> None:
        """Shows the text as it was written with its drafted spans marked, or as Markdown."""
        if sourced and self._sourced:
            self.query_one(SourcedText).show(current)
        elif sourced:
            self._sourced = True
            await self.mount(SourcedText(self.said, current), before=self._text)
            self._text.display = False
        elif self._sourced:
            self._sourced = False
            self._show_whole()
            self._text.display = True
            await self.query(SourcedText).remove()

    # While it is written

    def resume(self) -> None:
        """The answer goes on where it ended."""
        self._note("")

    def add(self, text: str, thinking: str = "", spans: Sequence[Span] = ()) -> None:
        """Takes in more of the answer; `draw` shows it."""
        self.said.thinking += thinking
        self.said.spans = with_new(self.said.spans, spans)
        if text:
            self.said.text += text
            self._pending.append(for_display(text))

    def draw(self) -> None:
        """Shows what came since."""
        self._thinking.show(self.said.thinking, bool(self.said.text))
        if not self._pending:
            return
        text = "".join(self._pending)
        self._pending.clear()
        if self._sourced:
            self.query_one(SourcedText).show(None)
        else:
            self._text.append(text)

    # When it is over

    def finish(self, done: AnswerDone) -> None:
        """The answer is over: shows all of it once more, and what it cost."""
        said = self.said
        said.thinking, said.spans = done.thinking, done.spans
        said.turn, said.position, said.siblings = done.turn, done.position, done.siblings
        said.parameters = done.parameters
        said.end(done.text, done.stopped_by, done.answer)
        self._show_end()

    def give_up(self) -> None:
        """No answer will come."""
        self.said.end("", StoppedBy.CANCELLED, None)
        self._show_end()

    def fail(self, failed: AnswerFailed) -> None:
        """The answer could not be completed; what was written stays."""
        said = self.said
        said.text, said.thinking = failed.text or said.text, failed.thinking or said.thinking
        said.turn, said.position, said.siblings = failed.turn, failed.position, failed.siblings
        said.spans = failed.spans or said.spans
        said.note, said.style = f"✖ {for_display(failed.message)}", FAILED
        self._show_end()

    def _show_end(self) -> None:
        self._thinking.show(self.said.thinking, True)
        if self._sourced:
            self._pending.clear()
            self.query_one(SourcedText).show(None)
        else:
            self._show_whole()
        self.show_branch()
        self._note(self.said.note, self.said.style)

    def _show_whole(self) -> None:
        """Shows all of the text as Markdown, and can go on from there."""
        self._pending.clear()
        self._text.update(for_display(self.said.text))

    def _note(self, text: str, style: str = "") -> None:
        self.said.note, self.said.style = text, style
        # A class of the answer would have the styles of all its blocks worked out anew.
        self._line.update(Content(text))
        self._line.set_classes(f"note {style}")
        self._line.display = bool(text)

    @on(LinkChosen)
    def _open_link(self, event: LinkChosen) -> None:
        """Opens web addresses only: a model may write a link to anything."""
        event.stop()
        if event.address.startswith(("https://", "http://")):
            self.app.open_url(event.address)
        else:
            self.notify(f"Only web links open: {one_line(event.address)[:80]}", markup=False)
