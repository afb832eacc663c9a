"""All that is known of how an answer was written, as lines for the screen. No widgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from textual.content import Content

from sssd_chat.conversation.events import AnswerParameters, AnswerStatistics
from sssd_chat.text import columns, counted, one_line
from sssd_chat.tui.figures import UNKNOWN, bar, count, decimal, percent, times
from sssd_chat.tui.said import Said

_BAR = 24
_NAME = 18
_NUMBER = 9
_HEADS = ("drafted", "tested", "accepted", "rate")

_PARAMETERS = (
    ("temperature", "temperature"),
    ("top_p", "top p"),
    ("top_k", "top k"),
    ("min_p", "min p"),
    ("repeat_penalty", "repeat penalty"),
    ("max_tokens", "at most so many tokens"),
    ("seed", "seed"),
)


def headline(said: Said) -> Content:
    """Who answered, and when."""
    when = f"{datetime.fromtimestamp(said.created):%d %b %Y, %H:%M}" if said.created else ""
    return Content.assemble(
        (one_line(said.speaker), "bold"), (f" · {when}" if when else "", "$muted")
    )


def figures(statistics: AnswerStatistics) -> Content:
    """The four numbers that matter most."""
    pairs = (
        (decimal(statistics.tokens_per_second), "tokens/s"),
        (times(statistics.speed_up), "plain"),
        (decimal(statistics.tokens_per_step, 2), "tokens/step"),
        (percent(statistics.acceptance_rate), "accepted"),
    )
    parts = [
        Content.assemble((value, "bold $accent"), (f" {what}", "$muted")) for value, what in pairs
    ]
    return Content("    ").join(parts)


def time_lines(statistics: AnswerStatistics) -> Content:
    """Where the time of writing went."""
    total = statistics.generation_seconds
    rows = (
        ("draft", statistics.draft_seconds),
        ("verify", statistics.decode_seconds),
        ("sampling", statistics.sampling_seconds),
        ("other", statistics.other_seconds),
    )
    lines = []
    for name, seconds in rows:
        share = seconds / total if total else None
        full, rest = bar(share or 0.0, _BAR)
        lines.append(
            Content.assemble(
                (_padded(name, _NAME), "$muted"),
                (full if share else "", "$accent"),
                (rest if share else "─" * _BAR, "$quiet"),
                f"{percent(share):>8}",
                (f"{decimal(seconds, 2):>9} s", "$muted"),
            )
        )
    written = counted(statistics.emitted, "token")
    steps = counted(statistics.steps, "step")
    saved = "" if statistics.plain_seconds is None else _saved(statistics.plain_seconds - total)
    lines.append(Content.styled(f"{written} in {steps}, {decimal(total, 2)} s{saved}", "$muted"))
    return Content("\n").join(lines)


def _saved(seconds: float) -> str:
    if abs(seconds) < 0.005:
        return ""
    return f" · {abs(seconds):,.2f} s {'less' if seconds > 0 else 'more'} than without drafts"


def prompt_line(statistics: AnswerStatistics) -> Content:
    """How the prompt was read."""
    read = statistics.prompt_tokens - statistics.reused_tokens
    parts = [f"{counted(read, 'token')} read in {decimal(statistics.prefill_seconds, 2)} s"]
    if statistics.prefill_seconds and read:
        parts[0] += f", {decimal(read / statistics.prefill_seconds)} tokens/s"
    parts.append(f"{count(statistics.reused_tokens)} of {count(statistics.prompt_tokens)} kept")
    return Content(" · ".join(parts))


def source_lines(statistics: AnswerStatistics) -> Content:
    """Drafted, tested and accepted tokens of each source."""
    if not statistics.by_source:
        return _nothing_drafted()
    return _counts({one_line(name): each for name, each in statistics.by_source.items()})


def depth_lines(statistics: AnswerStatistics) -> Content:
    """The same by how deep in the draft the tokens were."""
    if not statistics.by_depth:
        return _nothing_drafted()
    return _counts(
        {f"{depth}": statistics.by_depth[depth] for depth in sorted(statistics.by_depth)}
    )


def _nothing_drafted() -> Content:
    return Content.styled("nothing was drafted", "$muted")


def _counts(rows: Mapping[str, object]) -> Content:
    lines = [_row("", _HEADS, "$muted")]
    for name, each in rows.items():
        drafted, tested, accepted = (
            getattr(each, field) for field in ("drafted", "tested", "accepted")
        )
        rate = accepted / tested if tested else None
        full, rest = bar(rate or 0.0, _BAR // 2)
        row = _row(name, (count(drafted), count(tested), count(accepted), percent(rate)))
        lines.append(
            Content.assemble(row, "  ", (full if rate else "", "$accent"), (rest, "$quiet"))
        )
    return Content("\n").join(lines)


def _row(name: str, cells: Sequence[str], style: str = "") -> Content:
    numbers = "".join(f"{cell:>{_NUMBER}}" for cell in cells)
    return Content.assemble((_padded(name, _NAME), "$muted"), (numbers, style))


def _padded(text: str, width: int) -> str:
    """Exactly so many columns; what is longer is cut."""
    while columns(text) > width - 1:
        text = text[:-2] + "…"
    return text + " " * (width - columns(text))


def parameter_line(parameters: AnswerParameters) -> Content:
    """The parameters that are known."""
    parts: Iterable[str] = (
        f"{words} {getattr(parameters, name):g}"
        for name, words in _PARAMETERS
        if getattr(parameters, name) is not None
    )
    thinking = {True: ["thinking on"], False: ["thinking off"], None: []}[parameters.thinking]
    text = " · ".join([*parts, *thinking])
    return Content(text) if text else Content.styled(UNKNOWN, "$muted")
