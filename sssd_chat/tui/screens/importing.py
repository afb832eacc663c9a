"""Importing documents while the chat goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Static

from sssd_chat.errors import UserError
from sssd_chat.text import counted, for_display, one_line
from sssd_chat.tui.figures import bar, count
from sssd_chat.tui.screens.window import Window
from sssd_chat.tui.slash import typed_path

if TYPE_CHECKING:
    from sssd_chat.conversation.corpus import BackgroundImport, ImportProgress, ImportReport

StartImport = Callable[[str, str], "BackgroundImport"]
"""Begins to import a path into a collection. Raises UserError."""

_UPDATES_PER_SECOND = 8
_FAILURES_SHOWN = 3
_WIDEST_BAR = 60
_HEIGHTS = [(0, "-low"), (18, "-middle"), (30, "-high")]


class ImportScreen(Window[None]):
    """Asks for a path and a collection, then shows how far the import is and what came of it.
    Closing the screen does not stop the import."""

    CSS_PATH = "importing.tcss"
    VERTICAL_BREAKPOINTS = _HEIGHTS

    def __init__(
        self, start: StartImport, running: BackgroundImport | None, path: str = ""
    ) -> None:
        """`running` is an import that was begun earlier and is not over; else `path` stands in the
        field for it."""
        super().__init__()
        self._start = start
        self._job = running
        self._path = path

    def compose(self) -> ComposeResult:
        """Two fields, figures, and buttons."""
        with Vertical() as box:
            box.border_title = "Import documents"
            box.border_subtitle = self.way_out
            yield Static("File or folder", classes="label")
            yield Input(placeholder="~/papers", id="path", compact=True)
            yield Static("Collection", classes="label")
            yield Input(placeholder="the name of the folder", id="collection", compact=True)
            with VerticalScroll(id="outcome", can_focus=False):
                yield Static(id="figures", markup=False)
            with Horizontal():
                yield Button("Import", id="begin", variant="primary", compact=True)
                yield Button("Stop", id="stop", compact=True)
                yield Button("Close", id="close", compact=True)

    def on_mount(self) -> None:
        """Shows an import that is running already."""
        self.query_one("#path", Input).value = self._path
        if self._job is not None:
            (path,) = self._job.settings.paths
            self.query_one("#path", Input).value = for_display(str(path))
            self.query_one("#collection", Input).value = self._job.settings.collection
        self._show()
        self.set_interval(1 / _UPDATES_PER_SECOND, self._show)

    @on(Input.Submitted, "#path")
    def _go_on(self) -> None:
        self.query_one("#collection", Input).focus()

    @on(Button.Pressed, "#begin")
    @on(Input.Submitted, "#collection")
    def _begin(self) -> None:
        if self._job is not None and self._job.is_running:
            return
        path = typed_path(self.query_one("#path", Input).value)
        name = self.query_one("#collection", Input).value.strip() or _last_name(path)
        if not path:
            self.query_one("#path", Input).focus()
            return
        try:
            self._job = self._start(path, name)
        except UserError as error:
            self._tell(str(error))
            return
        self.query_one("#collection", Input).value = name
        self._show()

    @on(Button.Pressed, "#stop")
    def _stop(self) -> None:
        if self._job is not None:
            self._job.cancel()

    @on(Button.Pressed, "#close")
    def _close(self) -> None:
        self.dismiss()

    def _show(self) -> None:
        """How far it is, or what came of it."""
        job = self._job
        is_running = job is not None and job.is_running
        self.query_one("#begin", Button).disabled = is_running
        self.query_one("#stop", Button).disabled = not is_running
        if job is None:
            return
        if job.problem:
            self._tell(job.problem)
        elif job.report is not None:
            self._tell(outcome(job.report))
        elif job.progress is not None:
            self._tell(progress_line(job.progress), job.progress.share)

    def _tell(self, text: str, share: float | None = None) -> None:
        """Shows a text, below a bar while something is going on."""
        content = Content(for_display(text))
        if share is not None:
            width = self.query_one("#figures").content_size.width or _WIDEST_BAR
            full, empty = bar(share, min(_WIDEST_BAR, width))
            content = Content.assemble((full, "$accent"), (empty, "$quiet"), "\n", content)
        self.query_one("#figures", Static).update(content)


def _last_name(path: str) -> str:
    """What a folder is called, though it may be written as "." or "~"."""
    try:
        return Path(path).expanduser().resolve().name
    except (OSError, RuntimeError):
        # What is wrong with it is told when it is read.
        return Path(path).name


def progress_line(progress: ImportProgress) -> str:
    """How far an import is."""
    parts = [progress.stage.value]
    parts.append(f"{count(progress.done)} of {count(progress.total)}" if progress.total else "")
    if progress.tokens and progress.seconds:
        parts.append(f"{count(round(progress.tokens / progress.seconds))} tokens/s")
    if progress.seconds_left is not None:
        minutes, seconds = divmod(round(progress.seconds_left), 60)
        parts.append(f"{minutes}:{seconds:02} left")
    return " · ".join(filter(None, parts))


def outcome(report: ImportReport) -> str:
    """What came of an import, in a few lines."""
    lines = [f"Stopped. {_read(report)}" if report.stopped else _read(report)]
    if report.tokens is not None:
        lines.append(f"{count(report.tokens)} tokens of {report.collection} to draft from.")
    if report.skipped:
        why = ", ".join(f"{count(n)} {reason}" for reason, n in report.skipped.most_common())
        lines.append(f"Left out: {why}.")
    if report.failed:
        lines.append(f"{counted(len(report.failed), 'file')} could not be read:")
        lines += [one_line(note.text) for note in report.failed[:_FAILURES_SHOWN]]
    if len(report.failed) > _FAILURES_SHOWN:
        lines.append("…")
    return "\n".join(lines)


def _read(report: ImportReport) -> str:
    unchanged = report.unchanged + report.same
    rest = f", {count(unchanged)} not changed" if unchanged else ""
    return f"{counted(report.read, 'file')} read{rest}."
