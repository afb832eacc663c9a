"""Everything about how one answer was written."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from sssd_chat.conversation.events import AnswerStatistics
from sssd_chat.tui import answer_report as report
from sssd_chat.tui.said import Said
from sssd_chat.tui.screens.window import ReadingWindow


class StatisticsScreen(ReadingWindow):
    """The statistics of an answer."""

    CSS_PATH = "statistics.tcss"
    OPENED_BY = ("answer_statistics", "message_statistics")

    def __init__(self, said: Said, statistics: AnswerStatistics) -> None:
        super().__init__()
        self._said = said
        self._statistics = statistics

    def compose(self) -> ComposeResult:
        """One scrollable box, a section for each kind of number."""
        statistics = self._statistics
        with VerticalScroll() as box:
            box.border_title = "Statistics of the answer"
            box.border_subtitle = self.way_out
            yield Static(report.headline(self._said), markup=False)
            yield Static(report.figures(statistics), classes="figures", markup=False)
            yield from _section("Writing", report.time_lines(statistics))
            yield from _section("Prompt", report.prompt_line(statistics))
            yield from _section("Drafted tokens by source", report.source_lines(statistics))
            yield from _section("By depth in the draft", report.depth_lines(statistics))
            yield from _section("Parameters", report.parameter_line(self._said.parameters))


def _section(title: str, content: Content) -> ComposeResult:
    yield Static(title, classes="title", markup=False)
    yield Static(content, markup=False)
