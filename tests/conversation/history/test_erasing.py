"""What is deleted is not on the disk any more."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import threading
from array import array
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sssd_chat.conversation.history import ChatRecorder, History, NoSuchChat, erasing
from sssd_chat.errors import UserError

MARKER = "The Marker Of This Test"
TOKENS = list(range(70_001, 70_065))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history.db"


def fill(history: History, texts: list[str]) -> list[int]:
    chats: list[int] = []
    history.transaction(lambda: chats.extend(add(history, text) for text in texts))
    return chats


def add(history: History, text: str) -> int:
    """A chat with an answer that grew."""
    chat = history.add_chat(text, text)
    question = history.add_turn(chat, None, "user", text, "done", "tiny")
    answer = history.add_turn(chat, question, "assistant", "", "streaming", "tiny")
    for length in range(0, len(text) + 1, max(1, len(text) // 10)):
        history.update_turn(answer, text[:length], TOKENS[:length], "streaming")
    history.update_turn(answer, text, TOKENS, "done")
    return chat


def traces(path: Path, marker: str = MARKER) -> list[str]:
    """The files that hold the text or the tokens, or a good part of them."""
    forms = [form.encode() for form in (marker, marker.lower(), marker[5:13], marker[5:13].lower())]
    forms.append(array("i", TOKENS[:4]).tobytes())
    return [
        file.name
        for file in path.parent.iterdir()
        if any(form in file.read_bytes() for form in forms)
    ]


def test_deleting_takes_text_and_tokens_off_the_disk(path: Path) -> None:
    with contextlib.closing(History(path)) as history:
        kept, deleted = fill(history, ["something else", f"{MARKER} and more"])
        history.update_turn(history.leaf(kept) or 0, "something else", [1], "done")
        assert traces(path)
        history.delete_chats([deleted])
        assert traces(path) == []
        assert [chat.id for chat in history.chats()] == [kept]
        assert history.search("something")
        assert history.search("Marker") == []
    assert traces(path) == []


def test_the_program_that_has_it_open_does_not_bring_it_back(path: Path) -> None:
    recorder = ChatRecorder(path)
    recorder.question(MARKER, MARKER, "tiny")
    recorder.answer(MARKER, TOKENS, "streaming").result()
    chat = recorder.chat
    assert chat is not None
    with contextlib.closing(History(path)) as history:
        history.delete_chats([chat])
        assert traces(path) == []
        assert recorder.answer(MARKER, TOKENS, "done").result() is None
        assert "deleted" in recorder.problem
        assert traces(path) == []
        assert recorder.question("after", "", "tiny")
        assert recorder.answer("yes", [1], "done").result()
        recorder.close()
        assert [turn.text for _, turn in history.turns(history.last_chat() or 0)] == [
            "after",
            "yes",
        ]
    assert traces(path) == []


def test_a_copy_of_an_earlier_version_goes_too(path: Path) -> None:
    with contextlib.closing(History(path)) as history:
        (chat,) = fill(history, [MARKER])
        (path.parent / "history.db.v1-backup").write_text(MARKER)
        (path.parent / "history.db.v1-backup-unfinished").write_text(MARKER)
        history.delete_chats([chat])
        assert traces(path) == []


def test_everything_can_be_deleted(path: Path) -> None:
    with contextlib.closing(History(path)) as history:
        fill(history, [MARKER] * 3)
        history.delete_everything()
        assert traces(path) == []
        assert history.chats() == []
        (chat,) = fill(history, ["another beginning"])
        assert [hit.chat for hit in history.search("beginning")] == [chat]


def test_all_or_none_are_deleted(path: Path) -> None:
    with contextlib.closing(History(path)) as history:
        (chat,) = fill(history, [MARKER])
        with pytest.raises(NoSuchChat, match="no chat 99"):
            history.delete_chats([chat, 99])
        assert history.has_chat(chat)
        history.delete_chats([chat, chat])
        assert not history.has_chat(chat)


def test_a_reader_in_the_way_is_told_and_the_next_end_of_a_chat_erases(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "_READER_SECONDS", 0.2)
    with contextlib.closing(History(path)) as history:
        (chat,) = fill(history, [MARKER])
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM turns").fetchall()
            with pytest.raises(UserError, match="another program is reading"):
                history.delete_chats([chat])
            assert not history.has_chat(chat)
    recorder = ChatRecorder(path)
    recorder.question("hello", "", "tiny")
    recorder.close()
    assert traces(path) == []


def test_programs_that_write_meanwhile_only_wait(path: Path) -> None:
    with contextlib.closing(History(path)) as history:
        chats = fill(history, [f"{MARKER} {n}" for n in range(6)])
        writer = ChatRecorder(path)
        kept = threading.Event()

        def write() -> None:
            for n in range(40):
                assert writer.question(f"question {n}", "", "tiny"), writer.problem
                assert writer.answer("yes", [n], "done").result(), writer.problem
            kept.set()

        thread = threading.Thread(target=write)
        thread.start()
        for chat in chats:
            history.delete_chats([chat])
        thread.join()
        writer.close()
        assert kept.is_set()
        assert len(history.turns(history.last_chat() or 0)) == 80
    assert traces(path) == []


@pytest.mark.parametrize("seed", range(10, 30))
def test_rows_that_were_moved_between_pages_leave_nothing_behind(seed: int, path: Path) -> None:
    """Overwriting what is deleted is not enough: without writing the file anew, some of these
    leave a text in the gaps of a page."""
    chance = random.Random(seed)
    turns: list[tuple[str, int, int]] = []

    def fill_by_chance() -> None:
        for number in range(150):
            chat, mark = chance.choice(chats), f"<{number:08d}>"
            turn = history.add_turn(chat, None, "assistant", "", "streaming", "tiny")
            largest = chance.choice([20, 50, 200, 600, 2000, 5000])
            for size in sorted(chance.sample(range(10, largest), 4)):
                history.update_turn(turn, (mark * 600)[:size], [], "streaming")
            turns.append((mark, turn, chat))
            if chance.random() < 0.3:
                mark, turn, _ = chance.choice(turns)
                size = chance.randrange(10, 3000)
                history.update_turn(turn, (mark * 600)[:size], [], "streaming")

    with contextlib.closing(History(path)) as history:
        chats = [history.add_chat("x", "") for _ in range(10)]
        history.transaction(fill_by_chance)
        history.delete_chats(chats[:5])
        content = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert not any(mark.encode() in content for mark, _, chat in turns if chat in chats[:5])


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(sizes=st.lists(st.integers(0, 6000), min_size=1, max_size=12), data=st.data())
def test_whatever_else_is_kept(
    sizes: list[int], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("erase") / "history.db"
    deleted = data.draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1))
    with contextlib.closing(History(path)) as history:
        texts = [(MARKER if n in deleted else "x") + "y" * size for n, size in enumerate(sizes)]
        chats = fill(history, texts)
        for n, chat in enumerate(chats):
            if n not in deleted:
                history.update_turn(history.leaf(chat) or 0, texts[n], [1], "done")
        history.delete_chats([chats[n] for n in deleted])
        assert traces(path) == []
        assert [
            [record.text for record in history.records(chat)]
            for n, chat in enumerate(chats)
            if n not in deleted
        ] == [[text, text] for n, text in enumerate(texts) if n not in deleted]
