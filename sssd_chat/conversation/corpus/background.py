"""An import beside a chat."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from sssd_chat import paths
from sssd_chat.conversation.corpus.importing import Importer, ImportSettings
from sssd_chat.conversation.corpus.indexed import index_collection
from sssd_chat.conversation.corpus.report import ImportProgress, ImportReport
from sssd_chat.datastore.texts import TextStore
from sssd_chat.errors import UserError

log = logging.getLogger(__name__)


class BackgroundImport:
    """Imports files and indexes them for one model, in a thread. The chat goes on: only one
    processor is taken for tokenizing, and the index is free for the chat again at the end."""

    def __init__(
        self, settings: ImportSettings, model: Path, on_end: Callable[[BackgroundImport], None]
    ) -> None:
        """`on_end` is called in the thread, whatever the end is. `start` begins."""
        self.settings = settings
        self.progress: ImportProgress | None = None
        """How far it is; None before it begins."""
        self.report: ImportReport | None = None
        """The outcome, once it is over and went well."""
        self.problem = ""
        """Why it ended before its end, in one sentence; empty if it did not."""
        self._model = model
        self._on_end = on_end
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._run, name="import", daemon=True)

    @property
    def is_running(self) -> bool:
        """Whether it is still at work."""
        return self.report is None and not self.problem

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def cancel(self) -> None:
        """Ends it soon; what is done is kept."""
        self._cancelled.set()

    def join(self, seconds: float) -> None:
        """Waits so long for the end, at most."""
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            report = self._import()
        except UserError as error:
            self.problem = str(error)
        except Exception:
            log.exception("the import failed")
            self.problem = (
                f"Something went wrong inside the program; {paths.log_file()} has the details."
            )
        else:
            self.report = report
        self._on_end(self)

    def _import(self) -> ImportReport:
        from sssd_chat.generation.vocabulary import open_vocabulary

        def show(progress: ImportProgress) -> None:
            self.progress = progress

        try:
            with contextlib.closing(TextStore(paths.texts_file())) as texts:
                importer = Importer(
                    texts, self.settings, cancelled=self._cancelled, on_progress=show
                )
                report = importer.run()
                if report.stopped:
                    return report
                with open_vocabulary(self._model) as vocabulary:
                    report.tokens = index_collection(
                        texts,
                        report.collection,
                        paths.datastore_folder() / vocabulary.fingerprint,
                        vocabulary,
                        cancelled=self._cancelled,
                        on_progress=show,
                    )
        except sqlite3.Error as error:
            raise UserError(f"The imported texts cannot be used: {error}.") from error
        report.stopped = report.tokens is None
        return report
