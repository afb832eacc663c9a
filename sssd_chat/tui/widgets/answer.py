"""An answer while it is written and afterwards."""

from __future__ import annotations

from markdown_it import MarkdownIt
from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Markdown, Static
from textual.widgets.markdown import MarkdownBlock

from sssd_chat.conversation.events import AnswerStatistics, StoppedBy
from sssd_chat.text import counted, for_display, one_line
from sssd_chat.tui.fence import FenceScanner
from sssd_chat.tui.figures import decimal, times
from sssd_chat.tui.widgets.code_block import CodeBlock
from sssd_chat.tui.widgets.thinking import Thinking
from sssd_chat.tui.widgets.turn import Said, Turn

_LONG_FENCE_CHARACTERS = 1500

_ENDINGS = {
    StoppedBy.CANCELLED: "■ stopped",
    StoppedBy.LENGTH: "▲ cut at the token limit",
    StoppedBy.CONTEXT: "▲ cut, the context is full",
}


_LEFT_OUT = "▲ Up to here the chat is no longer in the prompt: the context is full."

_BLOCKS: dict[str, type[MarkdownBlock]] = {
    **Markdown.BLOCKS,
    "fence": CodeBlock,
    "code_block": CodeBlock,
}


def _parser() -> MarkdownIt:
    # HTML is not drawn in a terminal, and what is not drawn would be lost from the answer.
    return MarkdownIt("gfm-like", {"html": False})


class AnswerText(Markdown):
    """The Markdown of an answer."""

    BLOCKS = _BLOCKS


class Answer(Turn):
    """One answer of the model."""

    def __init__(self, said: Said, folded: bool = True) -> None:
        """With `folded`, thinking is one line."""
        super().__init__(said)
        self._folded = folded
        self._pending: list[str] = []
        self._fence = FenceScanner()
        self._fence_head: Content | None = None
        self._fence_rest = ""

    def compose(self) -> ComposeResult:
        """The name of the speaker, the text, and what it cost."""
        said = self.said
        yield Static(one_line(said.speaker), classes="speaker", markup=False)
        yield Thinking(said.thinking, self._folded)
        yield AnswerText(parser_factory=_parser, open_links=False, classes="body")
        yield Static(said.note, classes="note", markup=False)
        yield Static(_LEFT_OUT, classes="left-out", markup=False)
        self.set_class(bool(said.note), "-noted")
        self.set_class(said.left_out, "-left-out")
        if said.style:
            self.add_class(said.style)

    async def restore(self) -> None:
        """Shows the text of an answer that comes back to the screen."""
        await self.query_one(Markdown).update(for_display(self.said.text))

    def wait(self) -> None:
        """Says that the model is not there yet."""
        self._note("◌ waits until the model is loaded")

    def name_speaker(self, name: str) -> None:
        """The model is there, and its name is known."""
        self.said.speaker = name
        self._note("")
        self.query_one(".speaker", Static).update(Content(one_line(name)))

    def fold(self, folded: bool) -> None:
        """Shows one line of the thinking, or all of it."""
        self._folded = folded
        self.query_one(Thinking).fold(folded)

    def mark_left_out(self, left_out: bool) -> None:
        """Says, or no longer says, that the prompt begins below this answer."""
        self.said.left_out = left_out
        self.set_class(left_out, "-left-out")

    def add(self, text: str, thinking: str = "") -> None:
        """Takes in more of the answer; `draw` shows it."""
        self.said.thinking += thinking
        if text:
            self.said.text += text
            self._pending.append(for_display(text))

    async def draw(self) -> None:
        """Shows what came since."""
        self.query_one(Thinking).show(self.said.thinking, bool(self.said.text))
        if not self._pending:
            return
        text = "".join(self._pending)
        self._pending.clear()
        self._fence.feed(text)
        if self._fence.is_open and self._fence.open_length > _LONG_FENCE_CHARACTERS:
            self._draw_in_long_fence(text)
        else:
            text, self._fence_head, self._fence_rest = self._fence_rest + text, None, ""
            await self.query_one(Markdown).append(text)

    def _draw_in_long_fence(self, text: str) -> None:
        """Puts `text` below the code so far, plainly: to colour a fence it is read from its start
        each time."""
        self._fence_rest += text
        fences = self.query(CodeBlock)
        if not fences:
            return
        fence = fences.last()
        if self._fence_head is None:
            source = self.query_one(Markdown).source
            coloured = fence.highlight(fence.code, fence.lexer)
            # The widget drops the white space at the end, where the text goes on.
            self._fence_head = coloured + source[len(source.rstrip()) :]
        fence.set_content(self._fence_head + self._fence_rest.rstrip("\n"))

    async def finish(
        self,
        text: str,
        stopped_by: StoppedBy,
        statistics: AnswerStatistics | None,
        thinking: str = "",
    ) -> None:
        """The answer is over: shows all of it once more, and what it cost."""
        await self._show_whole(text, thinking)
        self.said.joined = statistics is not None and statistics.emitted > 0
        parts = [_ENDINGS[stopped_by]] if stopped_by in _ENDINGS else []
        if statistics:
            parts += _cost(statistics)
        if not text.strip() and not thinking:
            parts.insert(0, "nothing was written")
        self._note(" · ".join(parts), "-cut" if stopped_by in _ENDINGS else "")

    async def fail(self, text: str, message: str, thinking: str = "") -> None:
        """The answer could not be completed; what was written stays."""
        await self._show_whole(text or self.said.text, thinking or self.said.thinking)
        self._note(f"✖ {for_display(message)}", "-failed")

    async def _show_whole(self, text: str, thinking: str) -> None:
        self._pending.clear()
        self.said.text, self.said.thinking = text, thinking
        self.query_one(Thinking).show(thinking, True)
        await self.query_one(Markdown).update(for_display(text))

    def _note(self, text: str, style: str = "") -> None:
        self.said.note, self.said.style = text, style
        self.query_one(".note", Static).update(Content(text))
        self.set_class(bool(text), "-noted")
        if style:
            self.add_class(style)

    @on(Markdown.LinkClicked)
    def _open_link(self, event: Markdown.LinkClicked) -> None:
        """Opens web addresses only: a model may write a link to anything."""
        event.stop()
        if event.href.startswith(("https://", "http://")):
            self.app.open_url(event.href)
        else:
            self.notify(f"Only web links open: {one_line(event.href)[:80]}", markup=False)


def _cost(statistics: AnswerStatistics) -> list[str]:
    parts = [counted(statistics.emitted, "token")]
    if statistics.tokens_per_second is not None:
        parts.append(f"{decimal(statistics.tokens_per_second)} tokens/s")
    if statistics.speed_up is not None:
        parts.append(f"{times(statistics.speed_up)} plain")
    if statistics.tokens_per_step is not None:
        parts.append(f"{decimal(statistics.tokens_per_step, 2)} tokens/step")
    return parts
