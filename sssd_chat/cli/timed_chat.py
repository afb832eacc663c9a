"""One answer of the real engine, timed, with the chat's screen around it or without one; `bench
screen` runs it.

    python -m sssd_chat.cli.timed_chat RESULT [--screen] MODEL AND ANSWER OPTIONS
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sssd_chat.cli import options as shared

if TYPE_CHECKING:
    from sssd_chat.conversation.engine_thread import EngineThread
    from sssd_chat.conversation.events import Event
    from sssd_chat.conversation.session import ChatSettings
    from sssd_chat.generation.loading import EngineSettings

QUESTION = "Write a long story about a lighthouse keeper who counts ships."


def main() -> int:
    """Answers the question once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--screen", action="store_true")
    shared.add_model_options(parser)
    shared.add_answer_options(parser)
    options = parser.parse_args()
    engine = replace(shared.engine_settings(options), experience_folder=None, datastore_folder=None)
    chat = replace(_chat_settings(options), read_ahead=False)
    answer = _on_screen if options.screen else _plain
    return answer(engine, chat, options.result)


def _chat_settings(options: argparse.Namespace) -> ChatSettings:
    from sssd_chat.config import Config

    return shared.chat_settings(options, Config())


def _plain(engine: EngineSettings, chat: ChatSettings, result: Path) -> int:
    """As `sssd-chat ask` does it."""
    from sssd_chat.conversation.session import ChatSession
    from sssd_chat.generation.loading import load_engine

    loaded = load_engine(engine)
    try:
        session = ChatSession(loaded, chat)
        generation = session.begin(QUESTION)
        steps = session.steps(generation)
        first = next(steps)
        began = time.perf_counter()
        for step in steps:
            sys.stdout.write(step.text)
            sys.stdout.flush()
        tokens = generation.statistics.emitted - first.statistics.emitted
        _keep(result, tokens, time.perf_counter() - began)
    finally:
        loaded.close()
    return 0


class _Observed:
    """A backend whose events are looked at on their way to the screen."""

    def __init__(self, backend: EngineThread, result: Path) -> None:
        self._backend = backend
        self._result = result
        self._began: tuple[float, int] | None = None

    def events(self) -> list[Event]:
        """What came since the last call. The last event of the answer brings the result."""
        from sssd_chat.conversation.events import AnswerDone, AnswerStep

        events = self._backend.events()
        for event in events:
            if isinstance(event, AnswerStep) and self._began is None:
                self._began = time.perf_counter(), event.step.emitted
            elif isinstance(event, AnswerDone) and self._began is not None:
                began, tokens = self._began
                _keep(self._result, event.answer.emitted - tokens, time.perf_counter() - began)
        return events

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


def _on_screen(engine: EngineSettings, chat: ChatSettings, result: Path) -> int:
    """As the chat does it; who sits at the terminal types the question."""
    from sssd_chat.conversation.engine_thread import EngineThread
    from sssd_chat.conversation.events import ChatBackend
    from sssd_chat.tui.app import run_chat

    backend = EngineThread(lambda _: engine, lambda: chat)
    return run_chat(cast(ChatBackend, _Observed(backend, result)))


def _keep(path: Path, tokens: int, seconds: float) -> None:
    """Writes the result; whoever finds the file finds all of it."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps({"tokens": tokens, "seconds": seconds}), encoding="utf-8")
    part.replace(path)


if __name__ == "__main__":
    sys.exit(main())
