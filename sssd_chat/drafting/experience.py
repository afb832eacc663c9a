"""What drafting has learned about one model, and the file that keeps it."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

from sssd_chat.drafting.estimator import Estimator
from sssd_chat.drafting.runnerups import RunnerUps
from sssd_chat.files import write_atomically

HEADER = b"sssd-chat drafting experience 2\n"
"""First line of the file; its number changes whenever older files would be misread."""


class Experience:
    """Probabilities and runner-ups, learned from everything a model has emitted."""

    def __init__(self) -> None:
        """Nothing learned yet."""
        self.estimator = Estimator()
        self.runner_ups = RunnerUps()

    def forget_texts(self) -> None:
        """Forgets everything that names tokens: pieces of text could be put together from it. How
        far each source can be trusted stays."""
        self.estimator.forget_tokens()
        self.runner_ups = RunnerUps()

    def save(self, path: Path) -> None:
        """Writes the file so that a crash leaves the old one or the new one. Raises OSError."""
        learned = {"estimator": self.estimator.dump(), "runner_ups": self.runner_ups.dump()}
        text = json.dumps(learned, separators=(",", ":"))
        write_atomically(path, HEADER + zlib.compress(text.encode("ascii")))

    @classmethod
    def load(cls, path: Path) -> tuple[Experience, str | None]:
        """The experience of the file, and what to tell the user when it could not be used.

        A missing file is no mistake: nothing was learned yet.
        """
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            return cls(), None
        except OSError as error:
            return cls(), f"Cannot read {path} ({error.strerror}): drafting learns from scratch."
        if not raw.startswith(HEADER):
            return cls(), f"{path} is of another version: drafting learns from scratch."
        experience = cls()
        try:
            learned: dict[str, Any] = json.loads(zlib.decompress(raw[len(HEADER) :]))
            experience.estimator.load(learned["estimator"])
            experience.runner_ups.load(learned["runner_ups"])
        except (zlib.error, ValueError, TypeError, LookupError, AttributeError, OverflowError):
            return cls(), f"{path} is damaged: drafting learns from scratch."
        return experience, None
