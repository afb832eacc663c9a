"""One line above the prompt: what goes on and, without room for the panel, its numbers."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from sssd_chat.conversation.events import Drafting, StoppedBy
from sssd_chat.text import one_line
from sssd_chat.tui.chat_state import ChatState, Phase
from sssd_chat.tui.figures import bar, count, decimal, percent, times

_GLYPHS = {
    Phase.LOADING: "◌",
    Phase.FAILED: "✖",
    Phase.READY: "●",
    Phase.WAITING: "◌",
    Phase.READING: "◐",
    Phase.WRITING: "▶",
    Phase.STOPPING: "■",
}
_ENDS = {
    StoppedBy.CANCELLED: "stopped",
    StoppedBy.LENGTH: "the limit of tokens was reached",
    StoppedBy.CONTEXT: "the context is full",
}
"""How an answer ended that the model itself did not end."""
_GAP = "  "


class StatusLine(Widget):
    """What goes on, left, and the folded numbers, right."""

    folded = reactive(False)
    """Whether the numbers are shown here."""

    def __init__(self, state: ChatState) -> None:
        super().__init__()
        self._state = state

    def render(self) -> Content:
        """The line, with as many numbers as there is room for, the first ones first."""
        left = phase_text(self._state)
        room = self.size.width - left.cell_length - len(_GAP)
        right = _fitting(_numbers(self._state), room) if self.folded else Content()
        gap = self.size.width - left.cell_length - right.cell_length
        return Content.assemble(left, " " * max(0, gap), right)


def phase_text(state: ChatState) -> Content:
    """What goes on, in a few words."""
    style = "$text-error" if state.phase is Phase.FAILED else "$accent"
    return Content.assemble((f"{_GLYPHS[state.phase]} ", style), _phase_words(state))


def _phase_words(state: ChatState) -> str:
    match state.phase:
        case Phase.LOADING:
            return f"loading the model {percent(state.loading_progress)}"
        case Phase.WAITING:
            return f"your question waits: loading {percent(state.loading_progress)}"
        case Phase.READY if state.answer is None and state.model:
            return one_line(state.model.name)
        case Phase.READING if state.prompt:
            full, rest = bar(state.prompt.done / max(1, state.prompt.total), 8)
            reused = f", {count(state.prompt.reused)} kept" if state.prompt.reused else ""
            return (
                f"reading {full}{rest} {count(state.prompt.done)} of "
                f"{count(state.prompt.total)}{reused}"
            )
        case Phase.READY if state.stopped_by in _ENDS:
            return f"ready: {_ENDS[state.stopped_by]}"
        case _:
            return str(state.phase.value)


def _numbers(state: ChatState) -> list[tuple[str, str]]:
    """Pairs of a number and its unit, the most important first. Numbers have fixed widths, so that
    nothing moves while they change."""
    answer = state.answer
    numbers = [
        (f"{decimal(state.speed_now):>5}", "tok/s"),
        (f"{times(answer.speed_up if answer else None):>5}", "plain"),
    ]
    if state.drafting is Drafting.ON:
        numbers += [
            (f"{decimal(answer.tokens_per_step if answer else None, 2):>4}", "/step"),
            (_short_percent(answer.acceptance_rate if answer else None), "acc"),
            (f"{decimal(state.draft_size, 0):>2}", "draft"),
        ]
    else:
        numbers.append(("○", state.drafting.value))
    numbers.append((_short_percent(state.context_share), "ctx"))
    return numbers


def _short_percent(share: float | None) -> str:
    return f"{percent(share).replace(' ', ''):>4}"


def _fitting(numbers: list[tuple[str, str]], room: int) -> Content:
    shown = Content()
    for number, unit in numbers:
        space = "" if unit.startswith("/") else " "
        part = Content.assemble((number, "bold"), (f"{space}{unit}", "$muted"))
        longer = Content.assemble(shown, _GAP, part) if shown else part
        if longer.cell_length > room:
            break
        shown = longer
    return shown
