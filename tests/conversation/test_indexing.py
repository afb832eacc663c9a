from __future__ import annotations

import contextlib
import json
import lzma
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sssd_chat.conversation.history import History
from sssd_chat.conversation.indexing import Indexing, Stopped
from sssd_chat.datastore.document import CHATS, Document
from sssd_chat.datastore.starter import starter_corpora
from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.texts import StoredText, TextStore
from tests.conversation.spelling import Spelling


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Datastore]:
    with contextlib.closing(Datastore(tmp_path / "store")) as opened:
        yield opened


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with contextlib.closing(History(tmp_path / "history.db")) as opened:
        yield opened


@pytest.fixture
def texts(tmp_path: Path) -> Iterator[TextStore]:
    with contextlib.closing(TextStore(tmp_path / "texts.db")) as opened:
        yield opened


def answer(
    history: History, text: str, status: str = "done", tokens: list[int] | None = None
) -> tuple[int, int]:
    """A chat of one question and its answer; (chat, turn)."""
    found: list[int] = []

    def write() -> None:
        chat = history.add_chat("why", "")
        question = history.add_turn(chat, None, "user", "why", "done", "m")
        turn = history.add_turn(chat, question, "assistant", text, "streaming", "m", "spelling")
        if tokens is not None or status != "streaming":
            history.update_turn(turn, text, tokens or [], status)
        found.extend((chat, turn))

    history.transaction(write)
    return found[0], found[1]


def indexed(store: Datastore, collection: str) -> dict[str, list[int]]:
    return {d.label.key: d.tokens.tolist() for d in store.documents(collection)}


def test_exact_tokens_are_used_as_generated(store: Datastore, history: History) -> None:
    vocabulary = Spelling()
    chat, turn = answer(history, "three rivers", tokens=[7, 8, 9])
    assert Indexing(store, vocabulary).chats(history) == {f"{chat}/{turn}"}
    assert indexed(store, CHATS) == {f"{chat}/{turn}": [7, 8, 9]}
    assert vocabulary.tokenized == []


def test_another_vocabulary_reads_the_text(store: Datastore, history: History) -> None:
    vocabulary = Spelling("another")
    chat, turn = answer(history, "ab", tokens=[7, 8, 9])
    Indexing(store, vocabulary).chats(history)
    assert indexed(store, CHATS) == {f"{chat}/{turn}": [10 + ord("a"), 10 + ord("b")]}


@pytest.mark.parametrize(("status", "expected"), [("stopped", 1), ("failed", 0), ("streaming", 0)])
def test_only_finished_answers_are_learned(
    store: Datastore, history: History, status: str, expected: int
) -> None:
    answer(history, "text", status, [1, 2])
    Indexing(store, Spelling()).chats(history)
    assert len(indexed(store, CHATS)) == expected


def test_what_left_the_history_leaves_the_index(store: Datastore, history: History) -> None:
    first, second = (answer(history, "text", tokens=[1, 2, n]) for n in (3, 4))
    Indexing(store, Spelling()).chats(history)
    history.delete_chats([first[0]])
    Indexing(store, Spelling()).chats(history)
    assert list(indexed(store, CHATS)) == ["/".join(map(str, second))]


def test_indexing_again_adds_nothing(store: Datastore, history: History) -> None:
    answer(history, "text", tokens=[1, 2])
    for _ in range(2):
        Indexing(store, Spelling()).chats(history)
    (info,) = store.collections()
    assert (info.documents, info.tokens) == (1, 2)


def test_many_answers_become_segments_at_once(
    store: Datastore, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sssd_chat.conversation.indexing.SEAL_TOKENS", 100)
    for number in range(30):
        answer(history, "text", tokens=[number] * 10)
    told: list[tuple[str, int, int]] = []
    Indexing(store, Spelling(), progress=lambda *what: told.append(what)).chats(history)
    assert len(indexed(store, CHATS)) == 30
    assert told[0] == (CHATS, 0, 30)
    assert told[-1] == (CHATS, 30, 30)


def test_stopped_in_the_middle_it_goes_on_the_next_time(
    store: Datastore, history: History, texts: TextStore
) -> None:
    texts.put("notes", [StoredText(str(n), "text", "d") for n in range(5)])
    asked = iter([False, False, True])
    with pytest.raises(Stopped):
        Indexing(store, Spelling(), lambda: next(asked)).imports(texts)
    Indexing(store, Spelling()).imports(texts)
    assert len(indexed(store, "notes")) == 5


Change = tuple[str, str, str]


@given(
    st.lists(
        st.lists(
            st.tuples(
                st.sampled_from("ab"), st.sampled_from("123"), st.sampled_from(["", "x", "yy"])
            )
        ),
        max_size=4,
    )
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_index_follows_the_imported_texts(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[list[Change]]
) -> None:
    """Documents come, change and go; an empty text takes its document away."""
    folder = tmp_path_factory.mktemp("texts")
    with (
        contextlib.closing(TextStore(folder / "texts.db")) as texts,
        contextlib.closing(Datastore(folder / "store")) as store,
    ):
        store.add(CHATS, Document.of("1/2", [1]))
        truth: dict[str, dict[str, str]] = {"a": {}, "b": {}}
        for changes in rounds:
            for collection, name, text in changes:
                if text:
                    texts.put(collection, [StoredText(name, text, f"hash of {text}")])
                    truth[collection][name] = text
                else:
                    texts.remove(collection, [name])
                    truth[collection].pop(name, None)
            Indexing(store, Spelling()).imports(texts)
            for collection, expected in truth.items():
                found = {
                    key: bytes(token - 10 for token in tokens).decode()
                    for key, tokens in indexed(store, collection).items()
                }
                assert found == expected
        assert indexed(store, CHATS) == {"1/2": [1]}
        assert store.check_integrity() == []


def corpus(folder: Path, name: str, texts: list[str]) -> None:
    path = folder / name / "answers.jsonl.xz"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"id": f"p{n}", "turn": 0, "text": text}) for n, text in enumerate(texts)]
    path.write_bytes(lzma.compress("\n".join(lines).encode()))


def test_starter_collections_come_change_and_go(store: Datastore, tmp_path: Path) -> None:
    corpus(tmp_path, "code", ["ab", "cd"])
    corpus(tmp_path, "english", ["ef"])
    vocabulary = Spelling()
    index = Indexing(store, vocabulary)
    index.starters(starter_corpora(tmp_path), set())
    assert [(i.name, i.documents) for i in store.collections()] == [
        ("starter/code", 2),
        ("starter/english", 1),
    ]
    vocabulary.tokenized.clear()
    index.starters(starter_corpora(tmp_path), set())
    assert vocabulary.tokenized == []
    corpus(tmp_path, "code", ["a longer text than before"])
    index.starters(starter_corpora(tmp_path), {"starter/english"})
    assert [(i.name, i.documents) for i in store.collections()] == [("starter/code", 1)]
    index.starters([], set())
    assert store.collections() == []


def damaged(content: bytes) -> Iterator[bytes]:
    yield b""
    yield b"nonsense"
    yield content[: len(content) // 2]
    yield lzma.compress(b'{"id": 1}\n')
    yield lzma.compress(b"no json\n")


def test_a_damaged_starter_collection_is_left_out(store: Datastore, tmp_path: Path) -> None:
    corpus(tmp_path, "bad", ["text " * 50])
    corpus(tmp_path, "good", ["ab"])
    path = tmp_path / "bad" / "answers.jsonl.xz"
    for content in damaged(path.read_bytes()):
        path.write_bytes(content)
        Indexing(store, Spelling()).starters(starter_corpora(tmp_path), set())
        assert [info.name for info in store.collections()] == ["starter/good"]


def test_the_packaged_starter_collections_can_be_read() -> None:
    corpora = starter_corpora()
    assert {c.collection for c in corpora} >= {"starter/code", "starter/english"}
    for found in corpora:
        texts = list(found.texts())
        assert texts
        assert len({text.name for text in texts}) == len(texts)
        assert all(text.text for text in texts)
