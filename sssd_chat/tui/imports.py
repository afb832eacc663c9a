"""The import that runs beside the chat."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App

from sssd_chat.errors import UserError
from sssd_chat.text import for_display

if TYPE_CHECKING:
    from sssd_chat.conversation.corpus import BackgroundImport

_LAST_SECONDS = 2.0
"""How long the end of the program waits for an import to stop by itself; being cut off does no harm
to what it has done."""


class Imports:
    """One import at a time."""

    def __init__(self, app: App[None]) -> None:
        """`app` is told when an import ends that nobody looks at."""
        self._app = app
        self._job: BackgroundImport | None = None
        self._model = Path()
        self._closed = False

    def open(self, model: Path, path: str = "") -> None:
        """Shows the running import, or asks for a new one, to be indexed for `model`; `path` stands
        in its field already."""
        from sssd_chat.tui.screens.importing import ImportScreen

        self._model = model
        running = self._job if self._job is not None and self._job.is_running else None
        self._app.push_screen(ImportScreen(self._start, running, path))

    def close(self) -> None:
        """Ends a running import."""
        self._closed = True
        if self._job is not None:
            self._job.cancel()
            self._job.join(_LAST_SECONDS)

    def _start(self, path: str, collection: str) -> BackgroundImport:
        from sssd_chat.config import load_config
        from sssd_chat.conversation.corpus import (
            BackgroundImport,
            ImportSettings,
            WalkSettings,
            check_collection_name,
        )

        try:
            place = Path(path).expanduser()
        except RuntimeError as error:
            # A "~user" whose home folder is not known.
            raise UserError(f"{path} cannot be followed: {error}".rstrip(".") + ".") from error
        most = load_config().imports.largest_file_mb * 1_000_000
        settings = ImportSettings((place,), check_collection_name(collection), WalkSettings(most))
        self._job = BackgroundImport(settings, self._model, self._on_end)
        self._job.start()
        return self._job

    def _on_end(self, job: BackgroundImport) -> None:
        if not self._closed:
            # The app may end at this very moment.
            with contextlib.suppress(RuntimeError):
                self._app.call_from_thread(self._tell_end, job)

    def _tell_end(self, job: BackgroundImport) -> None:
        from sssd_chat.tui.screens.importing import ImportScreen, outcome

        if isinstance(self._app.screen, ImportScreen):
            return
        if job.report is not None:
            self._app.notify(for_display(outcome(job.report)), markup=False)
        else:
            self._app.notify(for_display(job.problem), severity="error", markup=False)
