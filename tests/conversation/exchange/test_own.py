"""What was exported comes back as it was: branches, tokens, particulars and any text."""

from __future__ import annotations

import contextlib
import json
import tempfile
from array import array
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sssd_chat.conversation.exchange.exporting import exported, portable_chat
from sssd_chat.conversation.exchange.importing import Importer
from sssd_chat.conversation.exchange.reading import Found, Problem, read_chats
from sssd_chat.conversation.history import History, NewTurn

ANY_TEXT = st.text(st.characters(codec=None), max_size=30)
TIMES = st.floats(0, 4e9, allow_subnormal=False)
TOKENS = st.none() | st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5).map(
    lambda tokens: array("i", tokens)
)
PARTICULARS = ANY_TEXT | st.dictionaries(ANY_TEXT, st.none() | st.floats() | ANY_TEXT).map(
    json.dumps
)
TURNS = st.builds(
    NewTurn,
    st.sampled_from(["user", "assistant"]),
    ANY_TEXT,
    st.sampled_from(["done", "stopped", "failed"]),
    st.text(max_size=5),
    TOKENS,
    st.sampled_from(["", "0123456789abcdef"]),
    PARTICULARS,
    PARTICULARS,
    TIMES,
    TIMES,
)


def fill(history: History, data: st.DataObject) -> list[int]:
    chats = []
    for _ in range(data.draw(st.integers(1, 3))):
        chat = history.add_chat(
            "", data.draw(ANY_TEXT), title=data.draw(ANY_TEXT), created=data.draw(TIMES)
        )
        turns: list[int] = []
        for turn in data.draw(st.lists(TURNS, max_size=6)):
            turns.append(history.insert(chat, data.draw(st.sampled_from([None, *turns])), turn))
        if turns and data.draw(st.booleans()):
            history.set_leaf(chat, data.draw(st.sampled_from(turns)))
        chats.append(chat)
    return chats


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_an_export_comes_back_as_it_was(data: st.DataObject) -> None:
    with (
        tempfile.TemporaryDirectory() as name,
        contextlib.closing(History(Path(name) / "a.db")) as history,
        contextlib.closing(History(Path(name) / "b.db")) as other,
    ):
        other.add_turn(other.add_chat("in the way", ""), None, "user", "x", "done", "")
        chats = fill(history, data)
        file = Path(name) / "chats.json"
        content = "".join(exported(history, chats, "json"))
        file.write_bytes(content.encode())
        found = list(read_chats(file))
        importer = Importer(other)
        numbers = [importer.add(each.chat) for each in found if isinstance(each, Found)]
        hashes = [portable_chat(history, chat).content_hash() for chat in chats]
        assert len(found) == len(numbers) == len(chats)
        # Of chats that are the same, one is enough.
        assert [number is None for number in numbers] == [
            value in hashes[:place] for place, value in enumerate(hashes)
        ]
        if None not in numbers:
            again = "".join(exported(other, [n for n in numbers if n is not None], "json"))
            assert again == content
            for chat, number in zip(chats, numbers, strict=True):
                assert [turn for _, turn in other.turns(number or 0)] == [
                    turn for _, turn in history.turns(chat)
                ]
        # Neither the one nor the other takes them again.
        assert [Importer(other).add(f.chat) for f in found if isinstance(f, Found)] == [
            None for _ in found
        ]
        assert all(Importer(history).add(f.chat) is None for f in found if isinstance(f, Found))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_record_is_a_problem_and_never_an_error(data: st.DataObject) -> None:
    """Any field of a good record replaced by something else."""
    chat = {
        "format": "sssd-chat",
        "version": 1,
        "title": "t",
        "system": "",
        "created": 1.0,
        "updated": 1.0,
        "current": 1,
        "turns": [turn(None, "user"), turn(0, "assistant")],
    }
    other = data.draw(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.none())
    )
    place = data.draw(st.sampled_from([chat, *chat["turns"]]))  # type: ignore[misc]
    name = data.draw(st.sampled_from(list(place)))
    place[name] = other  # type: ignore[index]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "chats.jsonl"
        good = {**chat, "turns": [turn(None, "user")], "format": "sssd-chat", "version": 1}
        good |= {"title": "t", "system": "", "created": 1.0, "updated": 1.0, "current": None}
        file.write_text(json.dumps(chat) + "\n" + json.dumps(good) + "\n")
        first, second = read_chats(file)
        assert isinstance(second, Found)
        with contextlib.closing(History(Path(folder) / "a.db")) as history:
            if isinstance(first, Found):
                Importer(history).add(first.chat)
            else:
                assert isinstance(first, Problem)
                assert first.position == "line 1"


def turn(parent: int | None, role: str) -> dict[str, object]:
    return {
        "parent": parent,
        "role": role,
        "text": "hello",
        "status": "done",
        "model": "tiny",
        "created": 1.0,
        "updated": 1.0,
        "fingerprint": "",
        "parameters": {},
        "statistics": "",
        "tokens": [1],
    }
