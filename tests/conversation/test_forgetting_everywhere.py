"""Forgotten for real: whatever kept something of a text has to give it up."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from sssd_chat import paths
from sssd_chat.conversation.auditing import audit
from sssd_chat.conversation.forgetting import (
    forget_chat,
    forget_collection,
    forget_document,
    forget_everything,
)
from sssd_chat.conversation.history import History, NoSuchChat
from sssd_chat.conversation.history.origins import StoredSpan, packed_spans, unpacked_spans
from sssd_chat.conversation.indexing import Indexing
from sssd_chat.datastore.document import CHATS
from sssd_chat.datastore.savings import Saving, add_savings, read_savings
from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.texts import StoredText, TextStore, part_name
from sssd_chat.datastore.vocabularies import note_model
from sssd_chat.drafting import ROOT, DraftTree, Experience, ObservedStep, SssdDrafter
from sssd_chat.errors import UserError
from tests.conversation.spelling import Spelling, open_spelling
from tests.conversation.test_indexing import answer

SECRET = "the eagle lands at midnight behind the old mill"
OTHER = "an answer about the weather that may stay where it is"


@pytest.fixture
def filled(home: Path, tmp_path: Path) -> dict[str, int]:
    """A home with two chats and an imported collection, indexed; the numbers of the chats."""
    model = tmp_path / "model.gguf"
    model.touch()
    with contextlib.closing(History(paths.history_file())) as history:
        spelled = Spelling().tokenize(f"So {SECRET}.")
        secret, _ = answer(history, f"So {SECRET}.", tokens=spelled)
        other, late = answer(history, OTHER, tokens=Spelling().tokenize(OTHER))
        history.set_prompt(secret, f"and then {SECRET}")
        spans = [
            StoredSpan(0, 2, CHATS, f"{secret}/{secret}"),
            StoredSpan(2, 3, "notes", "plan.txt"),
            StoredSpan(3, 4, "conversation"),
        ]
        history.update_turn(late, OTHER, [], "done", spans=packed_spans(spans))
        with contextlib.closing(TextStore(paths.texts_file())) as texts:
            notes = [
                StoredText("plan.txt", f"Note: {SECRET}", "1"),
                StoredText(part_name("plan.txt", 2), f"Again: {SECRET}", "1"),
                StoredText("weather.txt", OTHER, "2"),
            ]
            texts.put("notes", notes)
            note_model(paths.datastore_folder(), "spelling", str(model))
            with contextlib.closing(Datastore(paths.datastore_folder() / "spelling")) as store:
                index = Indexing(store, Spelling())
                index.chats(history)
                index.imports(texts)
                store.seal()
                store.compact()
    add_savings(paths.savings_file(), {"notes": Saving(3, 1.0), CHATS: Saving(2, 1.0)})
    _learn(Spelling().tokenize(SECRET))
    return {"secret": secret, "other": other}


def _learn(tokens: list[int]) -> None:
    experience = Experience()
    drafter = SssdDrafter(experience)
    drafter.begin(tokens[:4])
    for token in tokens[4:]:
        drafter.observe(ObservedStep(DraftTree(), [], [token], [(ROOT, (token, 1))]))
    experience.save(paths.experience_folder() / "spelling-model")


def found(text: str) -> list[str]:
    traces = audit(text, paths.data_folder(), paths.datastore_folder(), open_spelling)
    return [f"{trace.path.name}: {trace.what}" for trace in traces]


def test_an_audit_finds_a_text_wherever_it_is(filled: dict[str, int]) -> None:
    traces = " ".join(found(SECRET))
    for place in (
        "history.db: the text",
        "texts.db: the text",
        "of the collection notes",
        "of the collection chats",
        ".segment: its tokens",
        "history.db: its tokens",
    ):
        assert place in traces
    assert found("a text that nobody ever wrote") == []


def test_a_forgotten_chat_leaves_no_trace(filled: dict[str, int]) -> None:
    forget_collection("notes")
    forget_chat(filled["secret"])
    assert found(SECRET) == []
    assert found(OTHER) != []
    with contextlib.closing(Datastore(paths.datastore_folder() / "spelling")) as store:
        assert [key.split("/")[0] for key in store.labels(CHATS)] == [str(filled["other"])]
        assert store.check_integrity() == []


def test_answers_no_longer_name_what_is_forgotten(filled: dict[str, int]) -> None:
    def places() -> list[str]:
        with contextlib.closing(History(paths.history_file())) as history:
            return [
                span.source for span in unpacked_spans(history.branch(filled["other"])[1].spans)
            ]

    assert places() == [CHATS, "notes", "conversation"]
    forget_chat(filled["secret"])
    assert places() == ["notes", "conversation"]
    forget_document("plan.txt")
    assert places() == ["conversation"]


def test_a_forgotten_document_takes_its_parts_along(filled: dict[str, int]) -> None:
    forget_chat(filled["secret"])
    assert forget_document("plan.txt") == 2
    assert found(SECRET) == []
    with contextlib.closing(Datastore(paths.datastore_folder() / "spelling")) as store:
        assert list(store.labels("notes")) == ["weather.txt"]


def test_a_forgotten_collection_takes_its_savings_along(filled: dict[str, int]) -> None:
    assert forget_collection("notes") == 3
    assert read_savings(paths.savings_file()) == {CHATS: Saving(2, 1.0)}


def test_everything_is_forgotten(filled: dict[str, int]) -> None:
    with contextlib.closing(History(paths.history_file())) as history:
        history.set_prompt(None, f"or {SECRET}")
    forget_everything()
    assert found(SECRET) == found(OTHER) == []
    with contextlib.closing(Datastore(paths.datastore_folder() / "spelling")) as store:
        assert store.collections() == []
    assert read_savings(paths.savings_file()) == {}


def test_what_was_learned_keeps_its_weights_but_no_token(filled: dict[str, int]) -> None:
    path = paths.experience_folder() / "spelling-model"
    before, _ = Experience.load(path)
    forget_chat(filled["secret"])
    after, problem = Experience.load(path)
    assert problem is None
    assert any(before.runner_ups.tables)
    assert not any(after.runner_ups.tables)
    learned = before.estimator.dump()
    for name, value in after.estimator.dump().items():
        assert name == "biases" or value == learned[name]
    assert not any(after.estimator.dump()["biases"].values())


@pytest.mark.parametrize(
    ("forget", "words"),
    [
        (lambda: forget_collection("none"), "no collection none"),
        (lambda: forget_collection(CHATS), "--chat ID"),
        (lambda: forget_document("none.txt"), "no document none.txt"),
        (lambda: forget_document("plan.txt", "other"), "in the collection other"),
    ],
)
def test_what_is_not_there_is_said(
    filled: dict[str, int], forget: Callable[[], object], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        forget()


def test_a_chat_that_is_not_there_changes_nothing(filled: dict[str, int]) -> None:
    with pytest.raises(NoSuchChat):
        forget_chat(999)
    assert found(SECRET) != []


def test_a_forgotten_starter_collection_does_not_come_back(home: Path) -> None:
    with contextlib.closing(Datastore(paths.datastore_folder() / "spelling")) as store:
        from sssd_chat.datastore.document import Document

        store.add("starter/code", Document.of("a", [1]))
    assert forget_collection("starter/code") == 1
    with contextlib.closing(TextStore(paths.texts_file())) as texts:
        assert texts.declined() == {"starter/code"}
        texts.welcome()
        assert texts.declined() == set()


def test_another_program_that_writes_is_asked_to_step_back(
    filled: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sssd_chat.conversation.forgetting._WAIT_SECONDS", 0.3)
    with contextlib.closing(Datastore(paths.datastore_folder() / "spelling")) as other:
        with pytest.raises(UserError, match="does not step back"):
            forget_chat(filled["secret"])
        assert other.is_writer
    # It is deleted all the same, and leaves the index when that is brought up to date.
    with (
        contextlib.closing(History(paths.history_file())) as history,
        contextlib.closing(Datastore(paths.datastore_folder() / "spelling")) as store,
    ):
        Indexing(store, Spelling()).chats(history)
        assert len(store.labels(CHATS)) == 1


def test_an_index_that_cannot_be_read_is_not_taken_for_another_program(
    filled: dict[str, int],
) -> None:
    manifest = paths.datastore_folder() / "spelling" / "manifest.json"
    manifest.unlink(missing_ok=True)
    manifest.mkdir()
    with pytest.raises(UserError, match="manifest") as caught:
        forget_chat(filled["secret"])
    assert "program" not in str(caught.value)


def test_a_text_across_the_pages_of_a_database_is_found(home: Path) -> None:
    generator = random.Random(5)
    words = ["".join(generator.choices("abcdefghij", k=7)) for _ in range(3000)]
    with contextlib.closing(History(paths.history_file())) as history:
        answer(history, " ".join(words), tokens=[1, 2])
    for start in range(0, 2990, 37):
        assert found(" ".join(words[start : start + 8]))
