from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sssd_chat.conversation.history import History
from sssd_chat.conversation.learning import Learner, LearningSettings, savings_of
from sssd_chat.datastore.document import CHATS
from sssd_chat.datastore.savings import Saving, read_savings
from sssd_chat.datastore.store import Datastore
from sssd_chat.generation.statistics import AnswerStatistics, Count
from tests.conversation.spelling import Spelling
from tests.conversation.test_indexing import answer, indexed

_PATIENCE = 30.0


def eventually(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def settings_in(folder: Path, **changes: bool) -> LearningSettings:
    return LearningSettings(
        folder / "history.db",
        folder / "texts.db",
        folder / "savings.json",
        **{"starters": False, **changes},
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Datastore]:
    with contextlib.closing(Datastore(tmp_path / "store")) as opened:
        yield opened


@contextlib.contextmanager
def learning(store: Datastore, settings: LearningSettings) -> Iterator[Learner]:
    learner = Learner(store, Spelling(), settings)
    learner.start()
    try:
        yield learner
    finally:
        learner.close()


def test_a_new_answer_can_be_drafted_from_at_once(store: Datastore, tmp_path: Path) -> None:
    with learning(store, settings_in(tmp_path)) as learner:
        eventually(lambda: learner._indexed)
        learner.learn(3, 14, [1, 2, 3])
        assert indexed(store, CHATS) == {"3/14": [1, 2, 3]}


def test_earlier_answers_join_and_none_twice(store: Datastore, tmp_path: Path) -> None:
    with contextlib.closing(History(tmp_path / "history.db")) as history:
        chat, turn = answer(history, "text", tokens=[4, 5])
    learner = Learner(store, Spelling(), settings_in(tmp_path))
    # Finished, and in the history, before the thread had indexed anything.
    learner.learn(chat, turn, [4, 5])
    learner.learn(9, 99, [6])
    assert indexed(store, CHATS) == {}
    learner.start()
    eventually(lambda: len(indexed(store, CHATS)) == 2)
    learner.close()
    (info,) = store.collections()
    assert info.documents == 2


def test_without_learning_nothing_joins(store: Datastore, tmp_path: Path) -> None:
    with contextlib.closing(History(tmp_path / "history.db")) as history:
        answer(history, "text", tokens=[4, 5])
    with learning(store, settings_in(tmp_path, learns=False)) as learner:
        eventually(lambda: learner._indexed)
        learner.learn(1, 2, [1])
    assert store.collections() == []


def test_the_starter_collections_are_indexed_when_wanted(store: Datastore, tmp_path: Path) -> None:
    with learning(store, settings_in(tmp_path, starters=True)):
        eventually(lambda: any(i.name == "starter/english" for i in store.collections()))
    with learning(store, settings_in(tmp_path, starters=False)):
        eventually(lambda: store.collections() == [])


def test_a_second_program_reads_and_takes_over(tmp_path: Path) -> None:
    first, second = Datastore(tmp_path / "store"), Datastore(tmp_path / "store")
    with contextlib.closing(History(tmp_path / "history.db")) as history:
        with learning(first, settings_in(tmp_path)), learning(second, settings_in(tmp_path)) as b:
            chat, turn = answer(history, "of the second", tokens=[7, 7, 7])
            b.learn(chat, turn, [7, 7, 7])
            assert f"{chat}/{turn}" in indexed(second, CHATS)
            assert not second.is_writer
            one, two = answer(history, "of the first", tokens=[8, 8])
            first.add(CHATS, next(_document(f"{one}/{two}", [8, 8])))
            eventually(lambda: f"{one}/{two}" in indexed(second, CHATS))
            first.close()
            eventually(lambda: second.is_writer)
            eventually(lambda: len(indexed(second, CHATS)) == 2)
        second.close()
    with contextlib.closing(Datastore(tmp_path / "store")) as third:
        assert sorted(indexed(third, CHATS)) == sorted([f"{chat}/{turn}", f"{one}/{two}"])


def _document(key: str, tokens: list[int]):  # type: ignore[no-untyped-def]
    from sssd_chat.datastore.document import Document

    yield Document.of(key, tokens)


def test_a_damaged_segment_is_indexed_again(tmp_path: Path) -> None:
    with contextlib.closing(History(tmp_path / "history.db")) as history:
        keys = {"/".join(map(str, answer(history, "t", tokens=[n, n + 1]))) for n in range(5)}
    store = Datastore(tmp_path / "store")
    with learning(store, settings_in(tmp_path)):
        eventually(lambda: len(indexed(store, CHATS)) == 5)
    store.seal()
    store.close()
    (path,) = (tmp_path / "store").glob("*.segment")
    content = bytearray(path.read_bytes())
    content[70] ^= 1
    path.write_bytes(content)
    store = Datastore(tmp_path / "store")
    with learning(store, settings_in(tmp_path)) as learner:
        eventually(lambda: bool(store.damage))
        eventually(lambda: set(indexed(store, CHATS)) == keys)
        assert "damaged" in learner.problem
    store.close()
    with contextlib.closing(Datastore(tmp_path / "store")) as again:
        assert again.check_integrity() == []
        assert set(indexed(again, CHATS)) == keys


def test_savings_are_shared_by_accepted_tokens() -> None:
    statistics = AnswerStatistics(accepted=10, plain_seconds=8.0, decode_seconds=5.0)
    statistics.by_source = {
        "conversation": Count(9, 6, 4),
        CHATS: Count(9, 6, 6),
        "starter/code": Count(3, 3, 0),
    }
    assert savings_of(statistics, [CHATS, "starter/code"]) == {CHATS: Saving(6, pytest.approx(1.8))}


def test_what_an_answer_saved_is_noted(store: Datastore, tmp_path: Path) -> None:
    statistics = AnswerStatistics(accepted=2, plain_seconds=None)
    statistics.by_source = {CHATS: Count(2, 2, 2)}
    learner = Learner(store, Spelling(), settings_in(tmp_path))
    learner.count(statistics)
    assert read_savings(tmp_path / "savings.json") == {}
    learner.learn(1, 2, [1, 2, 3])
    store.add(CHATS, next(_document("1/2", [1, 2, 3])))
    for _ in range(2):
        learner.count(statistics)
    assert read_savings(tmp_path / "savings.json") == {CHATS: Saving(4, 0.0)}


def test_an_answer_that_went_on_takes_the_place_of_its_beginning(
    store: Datastore, tmp_path: Path
) -> None:
    with learning(store, settings_in(tmp_path)) as learner:
        eventually(lambda: learner._indexed)
        learner.learn(3, 14, [1, 2, 3])
        learner.relearn(3, 14, [1, 2, 3, 4])
        eventually(lambda: indexed(store, CHATS) == {"3/14": [1, 2, 3, 4]})


def test_what_was_deleted_does_not_join_any_more(store: Datastore, tmp_path: Path) -> None:
    learner = Learner(store, Spelling(), settings_in(tmp_path))
    for turn in (1, 2):
        learner.learn(3, turn, [turn])
        learner.relearn(3, turn, [turn, turn])
    learner.forget(3, [1])
    learner.start()
    eventually(lambda: indexed(store, CHATS) == {"3/2": [2, 2]})
    learner.close()
    # Nor is it left in the memory of a program that may not write.
    with contextlib.closing(Datastore(store.folder)) as reader:
        second = Learner(reader, Spelling(), settings_in(tmp_path))
        second.learn(4, 1, [7])
        second.learn(4, 2, [8])
        second.forget(4, [1])
        assert indexed(reader, CHATS) == {"3/2": [2, 2], "4/2": [8]}
