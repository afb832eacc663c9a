"""The panel beside the chat: what drafting gains, live."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Digits, Static

from sssd_chat.conversation.events import Drafting, ModelInfo
from sssd_chat.text import counted, one_line
from sssd_chat.tui.chat_state import ChatState, Phase
from sssd_chat.tui.figures import UNKNOWN, bar, count, decimal, percent, sparkline, times
from sssd_chat.tui.widgets.status_line import phase_text

_SOURCES_SHOWN = 6
_NAME_WIDTH = 14
_PERCENT_WIDTH = 6
_LOWEST_TOP = 4
_SPEED = " Speed "
_DRAFTS = " Drafts "


class LivePanel(VerticalScroll, can_focus=False):
    """Speed, acceptance, sources, context and model."""

    def __init__(self, state: ChatState) -> None:
        super().__init__()
        self._state = state

    def compose(self) -> ComposeResult:
        """The sections from top to bottom."""
        yield Headline(self._state)
        yield DraftsSection(_SPEED, self._state)
        yield SourcesSection(" Accepted tokens by source ", self._state)
        yield StepsSection(" Tokens per step ", self._state)
        yield ContextSection(" Context ", self._state)
        yield ModelSection(" Model ", self._state)

    def show(self) -> None:
        """Draws the state as it is now."""
        self.query_one(Headline).show()
        for section in self.query(Section):
            section.show()


class Headline(Horizontal):
    """The speed in large digits, where the screen is high enough."""

    def __init__(self, state: ChatState) -> None:
        super().__init__()
        self.border_title = _SPEED
        self._state = state
        self._shown = ""

    def compose(self) -> ComposeResult:
        """The digits, and what they are beside them."""
        yield Digits("-", id="speed-digits")
        yield Static(self._words(), id="speed-words", markup=False)

    def show(self) -> None:
        """Draws the speed of the answer."""
        answer = self._state.answer
        digits = decimal(answer.tokens_per_second if answer else None).replace(UNKNOWN, "-")
        words = self._words()
        if digits + words.plain != self._shown:
            self._shown = digits + words.plain
            self.query_one(Digits).update(digits)
            self.query_one(Static).update(words)

    def _words(self) -> Content:
        answer = self._state.answer
        return Content.assemble(
            "\n",
            ("tokens/s", "$muted"),
            "\n",
            (times(answer.speed_up if answer else None), "bold $accent"),
            (" plain decoding", "$muted"),
        )


class Section(Widget):
    """A titled part of the panel."""

    def __init__(self, title: str, state: ChatState) -> None:
        super().__init__()
        self.border_title = title
        self.state = state
        self._shown_lines: list[Content] = []

    def lines(self) -> Iterable[Content]:
        """What the section says now; each kind of section says its own."""
        return []

    def show(self) -> None:
        """Draws again what changed; lays out again only when the height changed."""
        lines = list(self.lines())
        if lines != self._shown_lines:
            grew = len(lines) != len(self._shown_lines)
            self._shown_lines = lines
            self.refresh(layout=grew)

    def render(self) -> Content:
        """The lines of the section."""
        self._shown_lines = list(self.lines())
        return Content("\n").join(self._shown_lines)

    @property
    def columns(self) -> int:
        """Cells in a line. Before the first layout, a guess."""
        return self.content_size.width or 30

    def row(self, name: str, value: str) -> Content:
        """A name on the left and a number on the right edge."""
        gap = self.columns - len(name) - len(value)
        return Content.assemble((name, "$muted"), " " * max(1, gap), (value, "bold"))


class DraftsSection(Section):
    """The numbers that say what drafting gains."""

    def lines(self) -> Iterable[Content]:
        """A row for each number."""
        answer = self.state.answer
        headline = self.screen.query_one(Headline).display
        self.border_title = _DRAFTS if headline else _SPEED
        if not headline:
            yield self.row("tokens/s", decimal(answer.tokens_per_second if answer else None))
            yield self.row("speed-up over plain", times(answer.speed_up if answer else None))
        yield self.row("tokens per step", decimal(answer.tokens_per_step if answer else None, 2))
        yield self.row("acceptance rate", percent(answer.acceptance_rate if answer else None))
        drafting = self.state.drafting
        if drafting is Drafting.ON:
            yield self.row("draft size", decimal(self.state.draft_size))
        else:
            short, _, reason = drafting.value.partition(": ")
            yield Content.assemble(("○ ", "$warning"), f"{short}:")
            yield Content(f"  {reason}")


class SourcesSection(Section):
    """Where the accepted tokens came from."""

    def lines(self) -> Iterable[Content]:
        """A bar for each source."""
        shares = self.state.shares_by_source()
        if not shares:
            yield Content.styled("no drafts yet", "$muted")
        for name, share in shares[:_SOURCES_SHOWN]:
            yield self._bar(name, share)
        rest = [share for _, share in shares[_SOURCES_SHOWN:]]
        if rest:
            known = [share for share in rest if share is not None]
            yield self._bar(f"{len(rest)} others", sum(known) if known else None)

    def _bar(self, name: str, share: float | None) -> Content:
        name = one_line(name)
        if len(name) > _NAME_WIDTH:
            name = name[: _NAME_WIDTH - 1] + "…"
        width = max(4, self.columns - _NAME_WIDTH - 1 - _PERCENT_WIDTH)
        full, empty = bar(share or 0.0, width)
        return Content.assemble(
            (f"{name:<{_NAME_WIDTH}} ", "$muted"),
            (full, "$accent"),
            (empty, "$quiet"),
            (f"{percent(share):>{_PERCENT_WIDTH}}", "bold"),
        )


class StepsSection(Section):
    """The tokens that each of the last steps gave."""

    def lines(self) -> Iterable[Content]:
        """A column for each step, the newest on the right, and the scale."""
        values = list(self.state.tokens_of_steps)[-self.columns :]
        if not values:
            yield Content.styled(UNKNOWN, "$muted")
            yield Content.styled("a column is a step of the model", "$muted")
            return
        top = max(_LOWEST_TOP, *values)
        yield Content.styled(sparkline(values, self.columns, top), "$accent")
        scale = f"▁ 1 … █ {top}"
        steps = f"last {counted(len(values), 'step')}"
        gap = self.columns - len(scale) - len(steps)
        yield Content.styled(scale + " " * max(1, gap) + steps, "$muted")


class ContextSection(Section):
    """How full the context is, and how far the prompt was read."""

    def lines(self) -> Iterable[Content]:
        """A bar, its numbers, and the prompt while it is read."""
        share = self.state.context_share
        full, empty = bar(share or 0.0, self.columns - _PERCENT_WIDTH)
        yield Content.assemble(
            (full, "$accent"), (empty, "$quiet"), (f"{percent(share):>{_PERCENT_WIDTH}}", "bold")
        )
        length = self.state.model.context_length if self.state.model else None
        yield self.row("tokens", f"{count(self.state.context_tokens)} of {count(length)}")
        if self.state.turns_left_out:
            yield self.row("left out", counted(self.state.turns_left_out, "early turn"))
        prompt = self.state.prompt
        if prompt is not None:
            done = f"{count(prompt.done)} of {count(prompt.total)}"
            reading = self.state.phase is Phase.READING
            yield self.row("prompt read", done if reading else count(prompt.total))
            yield self.row("kept from before", count(prompt.reused))
        else:
            yield self.row("prompt read", UNKNOWN)
            yield self.row("kept from before", UNKNOWN)


class ModelSection(Section):
    """Which model answers, and on what."""

    def lines(self) -> Iterable[Content]:
        """Name, description and processor; what goes on while there is none."""
        model = self.state.model
        if model is None:
            yield phase_text(self.state)
            return
        yield Content.styled(_shortened(one_line(model.name), self.columns), "bold")
        yield Content.styled(_shortened(one_line(model.description), self.columns), "$muted")
        yield Content.styled(_processor(model), "$muted")


def _processor(model: ModelInfo) -> str:
    return f"{counted(model.threads, 'thread')} · {'GPU' if model.gpu else 'no GPU'}"


def _shortened(text: str, columns: int) -> str:
    return text if len(text) <= columns else text[: max(0, columns - 1)] + "…"
