"""Many answers with the datastore that they are drafted from."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

from sssd_chat.conversation.completions.choice import Choice
from sssd_chat.conversation.completions.prompting import Prompt
from sssd_chat.conversation.completions.request import Defaults, read_chat
from sssd_chat.conversation.learning import LearningSettings
from sssd_chat.conversation.many import ManyAnswers
from sssd_chat.datastore.document import Document
from sssd_chat.datastore.info import CollectionInfo
from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.texts import TextStore
from sssd_chat.generation.batching import Progress, Request
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.loading import EngineSettings


def opened(model: Path, folder: Path) -> ManyAnswers:
    engine = EngineSettings(
        model, 256, threads=1, sequences=2, datastore_folder=folder / "datastore"
    )
    learning = LearningSettings(
        folder / "history.db", folder / "texts.db", folder / "savings.json", starters=False
    )
    return ManyAnswers(engine, learning)


def answered(many: ManyAnswers, question: str) -> Choice:
    asked = read_chat(
        {"messages": [{"role": "user", "content": question}], "max_tokens": 20},
        Defaults(GenerationSettings()),
    )
    prompt: Prompt = many.prompts.prompts(asked)[0]
    choice = Choice(0, prompt, divides_thinking=True)
    over = threading.Event()

    def sink(progress: Progress) -> None:
        choice.add(progress)
        if progress.is_last:
            over.set()

    many.service.submit(Request(prompt.tokens, prompt.settings), sink)
    assert over.wait(60)
    return choice


def wait_until_indexed(many: ManyAnswers) -> None:
    assert many._learner is not None
    while not many._learner._indexed:
        time.sleep(0.01)


def collections(folder: Path) -> dict[str, CollectionInfo]:
    (place,) = (path for path in (folder / "datastore").iterdir() if path.is_dir())
    with contextlib.closing(Datastore(place)) as store:
        return {info.name: info for info in store.collections()}


def test_served_answers_are_kept_by_caller(chat_model: Path, tmp_path: Path) -> None:
    with contextlib.closing(opened(chat_model, tmp_path)) as many:
        choices = [answered(many, f"question {number}") for number in range(3)]
        many.keep("ann", choices[0])
        many.keep("ann", choices[1])
        many.keep("bob", choices[2])
    with contextlib.closing(TextStore(tmp_path / "texts.db")) as texts:
        assert texts.collections() == ["served-ann", "served-bob"]
        kept = {one.text for one in texts.texts("served-ann", texts.digests("served-ann"))}
    assert kept == {choice.written for choice in choices[:2]}
    # The next program finds them, and indexes none a second time.
    with contextlib.closing(opened(chat_model, tmp_path)) as many:
        wait_until_indexed(many)
    found = collections(tmp_path)
    assert {name: info.documents for name, info in found.items()} == {
        "served-ann": 2,
        "served-bob": 1,
    }


def test_shared_answers_leave_at_the_end(chat_model: Path, tmp_path: Path) -> None:
    with contextlib.closing(opened(chat_model, tmp_path)) as many:
        many.share(answered(many, "question"))
        assert many._store is not None
        while not many._store.collections():
            time.sleep(0.01)
        (info,) = many._store.collections()
        assert info.name.startswith("shared-") and info.documents == 1
    assert collections(tmp_path) == {}


def test_what_a_killed_program_shared_is_dropped(chat_model: Path, tmp_path: Path) -> None:
    with contextlib.closing(opened(chat_model, tmp_path)) as many:
        wait_until_indexed(many)
        assert many._store is not None
        many._store.add("shared-of-a-killed-one", Document.of("a", [1, 2, 3]))
    assert set(collections(tmp_path)) == {"shared-of-a-killed-one"}
    with contextlib.closing(opened(chat_model, tmp_path)) as many:
        wait_until_indexed(many)
    assert collections(tmp_path) == {}
