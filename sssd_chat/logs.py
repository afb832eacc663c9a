"""The log file, made when there is something to write."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers

from sssd_chat import paths
from sssd_chat.files import make_private_folder

_MAX_BYTES = 1_000_000


class _PrivateLog(logging.handlers.RotatingFileHandler):
    """A log file that only its owner can read; a disk that refuses is no reason to stop."""

    def emit(self, record: logging.LogRecord) -> None:
        if self.stream is None:
            with contextlib.suppress(OSError):
                path = paths.log_file()
                make_private_folder(path.parent)
                path.touch(mode=0o600)
        try:
            super().emit(record)
        except OSError:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Says nothing: stderr belongs to the user."""


def start_logging() -> None:
    """Sends warnings and errors of the whole program to the log file."""
    handler = _PrivateLog(
        paths.log_file(), maxBytes=_MAX_BYTES, backupCount=1, delay=True, encoding="utf-8"
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
