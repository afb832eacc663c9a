"""The list of chats: what is deleted is hidden at once and can come back."""

from __future__ import annotations

import contextlib
import time
from datetime import datetime
from pathlib import Path

import pytest

from sssd_chat.conversation.chat_library import ChatEntry, ChatLibrary, by_day
from sssd_chat.conversation.history import History, NewTurn, NoSuchChat, NoSuchTurn
from sssd_chat.errors import UserError


@pytest.fixture
def library(home: Path) -> ChatLibrary:
    """Three chats; the first one has two branches."""
    path = home / "data" / "history.db"
    with contextlib.closing(History(path)) as history:
        for number, word in enumerate(("apples", "pears", "plums"), 1):
            chat = history.add_chat(f"about {word}", "be kind", updated=1000.0 * number)
            question = history.insert(chat, None, NewTurn("user", f"what of {word}?"))
            for answer in ("good ones", "bad ones"):
                history.insert(
                    chat, question, NewTurn("assistant", f"{answer} of {word}", statistics=COST)
                )
    return ChatLibrary(path)


COST = (
    '{"emitted": 3, "draft_seconds": 0, "decode_seconds": 1, "sampling_seconds": 0,'
    ' "other_seconds": 0, "plain_seconds": 2}'
)


def test_the_list_and_the_search(library: ChatLibrary) -> None:
    assert [chat.title for chat in library.list()] == ["about plums", "about pears", "about apples"]
    assert [(c.id, c.turns) for c in library.list(1)] == [(3, 3)]
    (found,) = library.search("bad pears")
    start, end = found.matches[0]
    assert (found.id, found.turns, found.excerpt[start:end]) == (2, 3, "bad")


def test_deleted_is_hidden_until_it_is_undone(library: ChatLibrary) -> None:
    deletion = library.delete([3])
    assert [chat.id for chat in library.list(2)] == [2, 1]
    assert [chat.id for chat in library.search("about", 1)] == [2]
    deletion.undo()
    assert [chat.id for chat in library.list()] == [3, 2, 1]
    deletion.commit()
    assert [chat.id for chat in library.list()] == [3, 2, 1]


def test_deleted_is_gone_for_good_after_commit_or_close(library: ChatLibrary) -> None:
    first, _second = library.delete([3]), library.delete([1])
    first.commit()
    first.undo()
    with contextlib.closing(History(library.path)) as history:
        assert [chat.id for chat in history.chats()] == [2, 1]
    library.close()
    with contextlib.closing(History(library.path)) as history:
        assert [chat.id for chat in history.chats()] == [2]
    assert b"apples" not in library.path.read_bytes()


def test_a_chat_that_is_gone_already_is_no_error(library: ChatLibrary) -> None:
    deletion = library.delete([2, 3])
    with contextlib.closing(History(library.path)) as history:
        history.delete_chats([2])
    deletion.commit()
    assert [chat.id for chat in library.list()] == [1]


def test_renaming(library: ChatLibrary) -> None:
    assert library.rename(1, "  fruit\n\x1b[31m ") == "fruit [31m"
    with pytest.raises(UserError, match="without a title"):
        library.rename(1, " \n")
    with pytest.raises(NoSuchChat):
        library.rename(99, "x")


def test_a_fork_is_a_chat_of_its_own(library: ChatLibrary) -> None:
    with contextlib.closing(History(library.path)) as history:
        question, first, second = (record.id for record in history.records(1))
        sums = history.figures_by_week()
    whole, part, branch = library.fork(1), library.fork(1, question), library.fork(1, first)
    with contextlib.closing(History(library.path)) as history:
        assert [turn.text for _, turn in history.turns(whole)] == [
            "what of apples?",
            "bad ones of apples",
        ]
        assert [turn.text for _, turn in history.turns(part)] == ["what of apples?"]
        assert [turn.text for _, turn in history.turns(branch)][1:] == ["good ones of apples"]
        assert history.chat(whole).system == "be kind"
        assert history.search("apples")[0].chat == branch
        # A copy saved no time.
        assert history.figures_by_week() == sums
        history.delete_chats([1])
        assert len(history.turns(whole)) == 2
    with pytest.raises(NoSuchTurn):
        library.fork(2, second)
    with pytest.raises(NoSuchChat):
        library.fork(1)


def test_exporting(library: ChatLibrary) -> None:
    assert library.export(1, "md").startswith("# about apples\n")
    with pytest.raises(NoSuchChat):
        library.export(99, "json")


def test_a_broken_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_bytes(b"no database" * 100)
    with pytest.raises(UserError, match=r"history\.db"):
        ChatLibrary(path).list()


def test_groups_by_day() -> None:
    now = datetime(2026, 3, 19, 12).timestamp()  # a Thursday
    times = [
        ("Today", datetime(2026, 3, 20, 1)),  # a clock that was set back
        ("Today", datetime(2026, 3, 19, 0, 0, 1)),
        ("Yesterday", datetime(2026, 3, 18, 23, 59)),
        ("This week", datetime(2026, 3, 16)),
        ("This month", datetime(2026, 3, 15, 23)),
        ("This month", datetime(2026, 3, 1)),
        ("February 2026", datetime(2026, 2, 28)),
        ("March 2025", datetime(2025, 3, 19)),
    ]
    chats = [ChatEntry(n, "", day.timestamp(), 1) for n, (_, day) in enumerate(times)]
    groups = by_day(chats, now)
    assert [group.title for group in groups] == list(dict.fromkeys(title for title, _ in times))
    assert [chat.id for group in groups for chat in group.chats] == list(range(len(times)))
    assert by_day([], time.time()) == []
