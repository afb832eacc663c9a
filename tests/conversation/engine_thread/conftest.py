"""An engine thread over a tiny model in the real llama.cpp."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sssd_chat import paths
from sssd_chat.conversation.engine_thread import EngineThread
from sssd_chat.conversation.history import ChatRecorder
from sssd_chat.conversation.learning import LearningSettings
from sssd_chat.conversation.session import ChatSettings
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.loading import EngineSettings
from tests.conversation.engine_thread.screen import Screen, Start
from tests.tiny_models import CHATML_TEMPLATE, Architecture, tiny_model


@pytest.fixture
def start(models: Path, home: Path) -> Iterator[Start]:
    backends: list[EngineThread] = []

    def begin(
        path: Path | None = None,
        max_tokens: int | None = 30,
        context: int = 1024,
        template: str | None = CHATML_TEMPLATE,
        architecture: Architecture = Architecture.LLAMA,
        drafting: bool = True,
        resume: bool = False,
        chat: int | None = None,
        settings: dict[str, Any] | None = None,
        keeps: bool = True,
        learns: bool = False,
        check: Callable[[str], None] | None = None,
    ) -> Screen:
        path = path or tiny_model(models, architecture, chat_template=template)
        folder = paths.datastore_folder() if learns else None
        learning = LearningSettings(
            paths.history_file(), paths.texts_file(), paths.savings_file(), starters=False
        )
        backend = EngineThread(
            lambda other: EngineSettings(
                Path(other) if other else path, context, threads=1, datastore_folder=folder
            ),
            lambda: ChatSettings(
                generation=GenerationSettings(max_tokens=max_tokens, drafting=drafting),
                **(settings or {}),
            ),
            ChatRecorder(paths.history_file(), resume=resume, chat=chat) if keeps else None,
            (lambda: learning) if learns else None,
            check=check,
        )
        backends.append(backend)
        backend.start()
        return Screen(backend)

    yield begin
    for backend in backends:
        backend.close()
