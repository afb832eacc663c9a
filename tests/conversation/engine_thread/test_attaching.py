"""Documents that go along with the next question, as the screen sees it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sssd_chat.conversation.attachments import Attachment, with_attachments
from sssd_chat.conversation.engine_thread import EngineThread
from sssd_chat.conversation.events import (
    AnswerDone,
    AttachmentsChanged,
    ContextFilled,
    Event,
    ModelReady,
    Notice,
)
from sssd_chat.conversation.history import ChatRecorder, History
from sssd_chat.conversation.session import ChatSettings
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.loading import EngineSettings
from tests.tiny_models import CHATML_TEMPLATE, tiny_model


@pytest.fixture
def backend(models: Path, home: Path) -> Iterator[EngineThread]:
    path = tiny_model(models, chat_template=CHATML_TEMPLATE)
    thread = EngineThread(
        lambda _: EngineSettings(path, 1024, threads=1),
        lambda: ChatSettings(
            generation=GenerationSettings(max_tokens=5), read_ahead_on_battery=True
        ),
        ChatRecorder(home / "history.db"),
    )
    thread.start()
    yield thread
    thread.close()


def wait_for(backend: EngineThread, kind: type[Event]) -> Event:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        for event in backend.events():
            if isinstance(event, kind):
                return event
        time.sleep(0.002)
    raise AssertionError(f"no {kind}")


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "notes.txt"
    path.write_text("the first line\nthe second line")
    return path


def test_a_document_goes_along_with_one_question(
    backend: EngineThread, document: Path, home: Path
) -> None:
    wait_for(backend, ModelReady)
    backend.attach(str(document))
    changed = wait_for(backend, AttachmentsChanged)
    assert isinstance(changed, AttachmentsChanged)
    (attached,) = changed.documents
    assert (attached.name, attached.lines) == ("notes.txt", 2)
    assert attached.tokens > 5
    # It is read ahead before anything is typed.
    filled = wait_for(backend, ContextFilled)
    assert isinstance(filled, ContextFilled) and filled.tokens > attached.tokens
    backend.send("why")
    assert wait_for(backend, AttachmentsChanged) == AttachmentsChanged(())
    wait_for(backend, AnswerDone)
    backend.send("and then")
    wait_for(backend, AnswerDone)
    history = History(home / "history.db")
    questions = [turn.text for _, turn in history.turns(1) if turn.role == "user"]
    expected = Attachment("notes.txt", document.read_text())
    assert questions == [with_attachments("why", [expected]), "and then"]
    assert history.chat(1).title == "why"
    history.close()


def test_several_wait_and_can_be_let_go(backend: EngineThread, document: Path) -> None:
    backend.attach(str(document))
    backend.attach(str(document))
    wait_for(backend, AttachmentsChanged)
    changed = wait_for(backend, AttachmentsChanged)
    assert isinstance(changed, AttachmentsChanged) and len(changed.documents) == 2
    backend.detach()
    assert wait_for(backend, AttachmentsChanged) == AttachmentsChanged(())


def test_a_new_chat_has_none(backend: EngineThread, document: Path) -> None:
    backend.attach(str(document))
    wait_for(backend, AttachmentsChanged)
    backend.new_chat()
    assert wait_for(backend, AttachmentsChanged) == AttachmentsChanged(())


@pytest.mark.parametrize(
    ("content", "told"), [("long " * 2000, "do not fit into the context"), ("", "holds no text")]
)
def test_what_cannot_go_along_is_told(
    backend: EngineThread, document: Path, content: str, told: str
) -> None:
    document.write_text(content)
    backend.attach(str(document))
    notice = wait_for(backend, Notice)
    assert isinstance(notice, Notice)
    assert told in notice.message and notice.severity == "error"
    backend.send("why")
    wait_for(backend, AnswerDone)
