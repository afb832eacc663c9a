"""What the index finds is what reading everything would find."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sssd_chat.conversation.history import History, search, search_index
from sssd_chat.conversation.history.search import terms_of

# Few letters, so that they meet: Latin, quotes, operators of the index, Chinese, an emoji, NUL and
# a lone surrogate.
LETTERS = 'abAB"*^:-東京都🙂\0\ud800é'


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with contextlib.closing(History(tmp_path / "history.db")) as history:
        yield history


def add(history: History, *texts: str, title: str = "a title") -> int:
    chat = history.add_chat("", "", title=title)
    for text in texts:
        history.add_turn(chat, None, "user", text, "done", "tiny")
    return chat


@pytest.mark.parametrize("walked", [0, 4000])
@pytest.mark.parametrize("available", [True, False])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    chats=st.lists(st.lists(st.text(LETTERS, max_size=9), max_size=4), max_size=6),
    terms=st.lists(st.text(LETTERS.replace('"', ""), min_size=1, max_size=5), max_size=3),
)
def test_it_finds_what_reading_would_find(
    walked: int,
    available: bool,
    chats: list[list[str]],
    terms: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "_WALKED_TURNS", walked)
    monkeypatch.setattr(search_index, "_has_trigrams", lambda _: available)
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.closing(History(Path(folder) / "h.db")) as history,
    ):
        numbers = [add(history, *texts, title="") for texts in chats]
        hits = history.search(" ".join(f'"{term}"' for term in terms), limit=100)
    patterns = [re.compile(re.escape(term), re.IGNORECASE) for term in terms]
    wanted = {
        number
        for number, texts in zip(numbers, chats, strict=True)
        if any(all(pattern.search(text) for pattern in patterns) for text in texts)
    }
    assert {hit.chat for hit in hits} == (wanted if terms else set())
    assert [hit.chat for hit in hits] == sorted((hit.chat for hit in hits), reverse=True)


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("two words", ["two", "words"]),
        ('a "b c" d', ["a", "b c", "d"]),
        ('"open', ["open"]),
        ('""', []),
        ("  ", []),
        ("NOT OR*", ["NOT", "OR*"]),
    ],
)
def test_words_and_quotes(query: str, terms: list[str]) -> None:
    assert terms_of(query) == terms


def test_the_excerpt_shows_where(history: History) -> None:
    text = "before " * 50 + "the Needle\nand the needle" + " after" * 50
    chat = add(history, "other", text, "later")
    (hit,) = history.search("needle")
    assert (hit.chat, hit.turn, hit.role, hit.title) == (chat, 2, "user", "a title")
    assert hit.excerpt.startswith("…") and hit.excerpt.endswith("…")
    assert "\n" not in hit.excerpt and len(hit.excerpt) < 200
    assert [hit.excerpt[begin:end] for begin, end in hit.matches] == ["Needle", "needle"]


def test_control_characters_do_not_come_out(history: History) -> None:
    add(history, "a \x1b[31mneedle\x07 \u202e")
    (hit,) = history.search("needle")
    assert hit.excerpt == "a [31mneedle"


@pytest.mark.parametrize("query", ["東京", "東", "京都", "🙂", "日本東京"])
def test_words_of_one_and_two_characters_are_found_far_back(
    query: str, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_WALKED_TURNS", 3)
    chat = add(history, "日本東京都 🙂")
    add(history, *["nothing"] * 10)
    assert [hit.chat for hit in history.search(query)] == [chat]


def test_titles_are_found(history: History) -> None:
    chat = add(history, "x", title="Ein schöner Titel")
    (hit,) = history.search("SCHÖNER")
    assert (hit.chat, hit.turn, hit.excerpt) == (chat, None, "Ein schöner Titel")
    assert hit.matches == ((4, 11),)


def test_the_chats_used_last_come_first_and_no_more_than_asked(history: History) -> None:
    chats = [add(history, "needle", "needle") for _ in range(5)]
    history.add_turn(chats[1], None, "user", "used again", "done", "tiny")
    assert [hit.chat for hit in history.search("needle", 3)][:2] == [chats[1], chats[4]]
    assert len(history.search("needle", 3)) == 3
    assert history.search("needle", 0) == []


def test_what_is_being_written_is_not_found_before_it_is_whole(history: History) -> None:
    chat = add(history)
    turn = history.add_turn(chat, None, "assistant", "nee", "streaming", "tiny")
    history.update_turn(turn, "needle one", [], "streaming")
    assert history.search("needle") == []
    history.update_turn(turn, "needle two", [], "done")
    assert history.search("one") == []
    assert [hit.turn for hit in history.search("needle")] == [turn]


def test_an_index_that_is_out_of_date_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a Python whose SQLite has no index was used in between."""
    path = tmp_path / "history.db"
    with contextlib.closing(History(path)) as history:
        first, second = add(history, "first needle"), add(history, "second needle")
    with monkeypatch.context() as patch:
        patch.setattr(search_index, "_has_trigrams", lambda _: False)
        with contextlib.closing(History(path)) as history:
            history.delete_chats([first])
            third: list[int] = []
            history.transaction(lambda: third.append(add(history, "third needle")))
            assert [hit.chat for hit in history.search("needle")] == [third[0], second]
    with contextlib.closing(History(path)) as history:
        assert [hit.chat for hit in history.search("needle")] == [third[0], second]
        assert history.search("first") == []
